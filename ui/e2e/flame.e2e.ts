// The flame graph in the page: hovering draws nothing, the picture is no higher than its place, and mouse, wheel, fingers
// and keys do what they say.

import type { Page } from "playwright-core";
import { afterAll, describe, expect, inject, test } from "vitest";
import { CART, closeBrowser, expectAccessible, settled, visit } from "./browser.ts";

const server = inject("server");
afterAll(closeBrowser);

async function graph(page: Page) {
  await settled(page);
  const box = await page.locator(".flame-tree").boundingBox();
  if (!box) throw new Error("no flame graph");
  return {
    box,
    pictures: async () => Number(await page.locator(".flame-tree").getAttribute("data-pictures")),
    said: () => page.locator(".flame-details-name").innerText(),
    crumb: () => page.locator(".flame-crumbs [aria-current]").innerText(),
  };
}

describe("the graph", () => {
  test("is not drawn again by hovering", async () => {
    const { page, leave } = await visit(server, CART);
    const { box, pictures, said } = await graph(page);
    const before = await pictures();
    const names = new Set<string>();
    for (let step = 0; step < 80; step++) {
      await page.mouse.move(box.x + ((step * 97) % (box.width - 4)), box.y + ((step * 23) % 180));
      names.add(await said());
    }
    expect(names.size).toBeGreaterThan(5);
    expect(await pictures()).toBe(before);
    await leave();
  });

  test("is as high as its place however deep the stack is, and scrolls inside", async () => {
    const { page, leave } = await visit(server, CART, { height: 620 });
    const { box } = await graph(page);
    const canvas = await page.locator(".flame-canvases canvas").first().boundingBox();
    expect(canvas?.height).toBeLessThanOrEqual(box.height);
    expect(canvas?.width).toBeLessThanOrEqual(box.width);
    await leave();
  });

  test("zooms at the pointer, pans by dragging, and goes out by Escape and double click", async () => {
    const { page, leave } = await visit(server, CART);
    const { box, said, crumb } = await graph(page);
    const at = { x: box.x + box.width * 0.3, y: box.y + 70 };
    await page.mouse.move(at.x, at.y);
    const name = await said();
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -300);
    await page.keyboard.up("Control");
    await settled(page);
    expect(await said()).toBe(name);

    await page.mouse.down();
    await page.mouse.move(at.x + 60, at.y, { steps: 4 });
    await page.mouse.up();
    await settled(page);
    // A drag is no click: nothing was focused.
    expect(page.url()).not.toContain("at=");

    await page.mouse.click(at.x, at.y);
    await settled(page);
    expect(page.url()).toContain("at=");
    const focus = await crumb();
    await page.keyboard.press("Escape");
    await settled(page);
    expect(await crumb()).toBe("total");
    await page.mouse.click(at.x, at.y);
    await settled(page);
    expect(await crumb()).toBe(focus);
    await page.mouse.dblclick(box.x + box.width - 30, box.y + box.height - 12);
    await settled(page);
    expect(await crumb()).toBe("total");
    await leave();
  });

  test("offers actions by right click and by key", async () => {
    const { page, text, leave } = await visit(server, CART);
    const { box, said, crumb } = await graph(page);
    await page.mouse.move(box.x + 60, box.y + 70);
    const name = await said();
    await page.mouse.click(box.x + 60, box.y + 70, { button: "right" });
    await page.waitForSelector(".flame-menu");
    await expectAccessible(page);
    await page.locator(".flame-menu [role=menuitem]").nth(1).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(name);
    await page.keyboard.press("Shift+F10");
    await page.waitForSelector(".flame-menu [role=menuitem]:focus");
    await page.keyboard.press("Enter");
    await settled(page);
    expect(await crumb()).toBe(name);
    expect(text.brand).toBe("Everflame");
    await leave();
  });

  test("takes two fingers as a zoom and one tap as a focus", async () => {
    const { page, context, leave } = await visit(server, CART);
    const { box, said, pictures } = await graph(page);
    const session = await context.newCDPSession(page);
    await session.send("Emulation.setTouchEmulationEnabled", { enabled: true, maxTouchPoints: 2 });
    const touch = (type: "touchStart" | "touchMove" | "touchEnd", ...points: (readonly [number, number])[]) =>
      session.send("Input.dispatchTouchEvent", {
        type,
        touchPoints: points.map(([x, y], id) => ({ x: box.x + x, y: box.y + y, id })),
      });
    const before = await pictures();
    await touch("touchStart", [400, 50]);
    await touch("touchStart", [400, 50], [500, 52]);
    for (let step = 1; step <= 5; step++) await touch("touchMove", [400 - step * 20, 50], [500 + step * 20, 52]);
    await touch("touchEnd");
    await settled(page);
    expect(await pictures()).toBeGreaterThan(before);
    expect(page.url()).not.toContain("at=");
    await touch("touchStart", [450, 70]);
    await touch("touchEnd");
    await settled(page);
    expect(page.url()).toContain("at=");
    expect(await said()).not.toBe("total");
    await leave();
  });
});
