// The flame graph in the page: hovering draws nothing, the document stays small, names of all kinds harm nothing, and
// mouse, wheel and fingers do what they say.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { CART, closeBrowser, expectAccessible, settled, visit } from "./browser.ts";
import { type Server, startServer } from "./server.ts";
import { STORY } from "./story.ts";

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
  test("is not drawn again by hovering, and the document stays small", async () => {
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
    const counts = await page.evaluate(() => ({
      all: document.querySelectorAll("*").length,
      items: document.querySelectorAll("[role=treeitem]").length,
      rows: document.querySelectorAll("tbody tr[data-row]").length,
    }));
    expect(counts.all).toBeLessThanOrEqual(1_500);
    expect(counts.items).toBeLessThanOrEqual(40);
    expect(counts.rows).toBeLessThanOrEqual(60);
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

describe("names of all kinds", () => {
  const names = [
    "处理请求::读取下一个记录",
    "שלום::עולם::קריאה",
    "معالجة الطلب",
    "🔥👨‍👩‍👧::emoji",
    "<img src=x onerror=window.harmed=1>",
    "<script>window.harmed=1</script>",
    "javascript:window.harmed=1",
    `long_${"x".repeat(10_230)}`,
    "right\u202eto left",
  ];
  let odd: Server;
  beforeAll(async () => {
    odd = await startServer();
    const body = names.map((name, at) => `main;${name};leaf_${at} ${100 - at * 7}`).join("\n");
    const query = `service=odd&format=folded&sample_type=samples&time=${new Date(STORY.from).toISOString()}`;
    const answer = await fetch(`${odd.url}/api/v1/push?${query}`, { method: "POST", body });
    expect(answer.status, await answer.text()).toBe(200);
  });
  afterAll(() => odd.stop());

  test("are drawn as text and harm nothing", async () => {
    const { page, leave } = await visit(odd.url, CART.replace("cart", "odd"));
    const { said } = await graph(page);
    await page.locator(".flame-tree").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const seen = [await said()];
    for (let step = 1; step < names.length; step++) {
      await page.keyboard.press("ArrowRight");
      seen.push(await said());
    }
    const shown = names.map((name) => (name.length > 400 ? `${name.slice(0, 400)}…` : name));
    shown[8] = "right<U+202E>to left";
    expect(seen).toEqual(shown);
    expect(await page.evaluate(() => "harmed" in window)).toBe(false);
    expect(await page.locator(".flame img, .flame script").count()).toBe(0);
    // Nothing is wider than the window, however long a name is.
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
    await expectAccessible(page);
    await leave();
  });
});
