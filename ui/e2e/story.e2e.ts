// The story that the page exists for: find a service, brush the spike, focus, search, compare with the period before, copy
// the link, and see the same in a fresh browser. By mouse in both languages and themes, and by keyboard alone.

import type { Page } from "playwright-core";
import { afterAll, describe, expect, inject, test } from "vitest";
import { closeBrowser, expectAccessible, type Language, RANGE, settled, tabTo, visit, words } from "./browser.ts";

const server = inject("server");

afterAll(closeBrowser);

const SPIKE = "lens=2026-11-29T03:10Z/PT5M";

/** What a reader sees, in words, and the picture itself. */
async function seen(page: Page) {
  await settled(page);
  const texts = (selector: string) => page.locator(selector).allInnerTexts();
  return {
    crumbs: await texts(".flame-crumbs li"),
    comparison: await texts(".compare-line"),
    match: await texts(".match-share"),
    rows: await texts(".function-table tbody tr[data-row]"),
    // The lower canvas: the upper one outlines what is pointed at or chosen, which is nobody else's.
    picture: await page.evaluate(() =>
      document.querySelector<HTMLCanvasElement>(".flame-canvases canvas")?.toDataURL(),
    ),
  };
}

async function copiedLink(page: Page): Promise<string> {
  return page.evaluate(() => navigator.clipboard.readText());
}

/** Points along a row of boxes until the details line names the function. */
async function pointAt(page: Page, name: string): Promise<{ x: number; y: number }> {
  const box = await page.locator(".flame-tree").boundingBox();
  if (!box) throw new Error("no flame graph");
  for (let y = box.y + 10; y < box.y + Math.min(box.height, 300); y += 20) {
    for (let x = box.x + 8; x < box.x + box.width; x += box.width / 6) {
      await page.mouse.move(x, y);
      const said = await page.locator(".flame-details-name").innerText();
      if (said === name) return { x, y };
    }
  }
  throw new Error(`${name} is not in the picture`);
}

/** Opens the menu of the button in focus, by key; its first item then has the focus. */
async function openMenu(page: Page): Promise<void> {
  await page.keyboard.press("Enter");
  await page.waitForSelector("[role^=menuitem]:focus");
}

describe.each([
  ["en", "light"],
  ["en", "dark"],
  ["zh", "light"],
  ["zh", "dark"],
] as const)("by mouse, %s, %s", (language: Language, theme) => {
  test("from the list of services to a link that shows the same", async () => {
    const { page, text, leave } = await visit(server, `?${RANGE}`, { language, theme });
    expect(await page.locator("html").getAttribute("lang")).toBe(language);
    await page.getByRole("link", { name: "cart", exact: true }).waitFor();
    await page.waitForFunction(() => !document.querySelector(".stale"));
    await expectAccessible(page);
    await page.getByRole("link", { name: "cart", exact: true }).click();
    await settled(page);
    await expectAccessible(page);

    const plot = await page.locator(".brush").boundingBox();
    if (!plot) throw new Error("no chart");
    const at = (minute: number) => plot.x + (plot.width * minute) / 90;
    await page.mouse.move(at(40) + 2, plot.y + 30);
    await page.mouse.down();
    await page.mouse.move(at(43), plot.y + 30);
    await page.mouse.move(at(45) - 2, plot.y + 30);
    await page.mouse.up();
    await settled(page);
    expect(page.url()).toContain(SPIKE);

    const { x, y } = await pointAt(page, "decode::request");
    await page.mouse.click(x, y);
    await settled(page);
    expect(page.url()).toContain("at=");
    expect(await page.locator(".flame-crumbs [aria-current]").innerText()).toBe("decode::request");

    await page.getByRole("textbox", { name: text.view.search }).fill("/utf8|alloc/");
    await page.locator(".match-share").waitFor();
    expect(await page.locator(".function-table tbody tr[data-row]").count()).toBe(2);

    await page.getByRole("button", { name: text.compare.start, exact: true }).click();
    await page.getByRole("menuitemradio", { name: text.compare.period }).click();
    await settled(page);
    expect(page.url()).toContain("b.lens=-5m");
    expect(await page.locator(".verdict").innerText()).toBe("+37.3 %");
    await expectAccessible(page);

    await page.getByRole("button", { name: text.out.share }).click();
    await expectAccessible(page);
    await page.getByRole("menuitem", { name: text.out.link }).click();
    const link = await copiedLink(page);
    const before = await seen(page);
    await leave();

    const fresh = await visit(server, link.slice(server.length + 1), { language, theme });
    expect(await seen(fresh.page)).toEqual(before);
    expect(fresh.page.url()).toBe(link);
    await fresh.leave();
  });
});

test("by keyboard alone", async () => {
  const text = words.en;
  const { page, leave } = await visit(server, `?${RANGE}`);
  await page.getByRole("link", { name: "cart", exact: true }).waitFor();
  await tabTo(page, "tr[data-row]");
  await page.keyboard.press("Enter");
  await settled(page);
  expect(page.url()).toContain("explore?q={service_name=%22cart%22}");

  await tabTo(page, `[role=slider][aria-label="${text.timeline.start}"]`);
  for (let press = 0; press < 4; press += 1) await page.keyboard.press("PageUp");
  await page.keyboard.press("Tab");
  for (let press = 0; press < 4; press += 1) await page.keyboard.press("PageDown");
  for (let press = 0; press < 5; press += 1) await page.keyboard.press("ArrowLeft");
  await settled(page);
  expect(page.url()).toContain(SPIKE);

  await tabTo(page, ".flame-tree");
  // Down from the root to the widest callee each time: main, server::run, handle, decode::request.
  for (let press = 0; press < 4; press += 1) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await settled(page);
  expect(await page.locator(".flame-crumbs [aria-current]").innerText()).toBe("decode::request");

  await page.keyboard.press("/");
  await page.keyboard.type("/utf8|alloc/");
  await page.locator(".match-share").waitFor();
  await page.keyboard.press("Shift+Tab");
  await tabTo(page, "[aria-label='Compare']");
  await openMenu(page);
  await page.keyboard.press("Enter");
  await settled(page);
  expect(page.url()).toContain("b.lens=-5m");

  await tabTo(page, `[aria-label="${text.out.share}"]`);
  await openMenu(page);
  await page.keyboard.press("Enter");
  await page.getByText(text.out.copied(text.out.theLink)).waitFor();
  const link = await copiedLink(page);
  const before = await seen(page);
  await leave();
  const fresh = await visit(server, link.slice(server.length + 1));
  expect(await seen(fresh.page)).toEqual(before);
  await fresh.leave();
});

test("back and forward go through what was chosen, and unknown keys stay", async () => {
  const { page, leave } = await visit(server, `explore?q={service_name%3D"cart"}&${RANGE}&later=kept`);
  await settled(page);
  const first = page.url();
  const { x, y } = await pointAt(page, "handle");
  await page.mouse.click(x, y);
  await settled(page);
  const focused = page.url();
  expect(focused).toContain("at=");
  expect(focused).toContain("later=kept");
  await page.goBack();
  await settled(page);
  expect(page.url()).toBe(first);
  expect(await page.locator(".flame-crumbs li").count()).toBe(1);
  await page.goForward();
  await settled(page);
  expect(page.url()).toBe(focused);
  expect(await page.locator(".flame-crumbs [aria-current]").innerText()).toBe("handle");
  await leave();
});
