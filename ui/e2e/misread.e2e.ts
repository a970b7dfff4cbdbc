// What is easily misread, and must not be: links that lost a part, patterns that are none.

import { afterAll, expect, inject, test } from "vitest";
import { CART, closeBrowser, expectAccessible, settled, visit, words } from "./browser.ts";

const server = inject("server");
const text = words.en;

afterAll(closeBrowser);

test("a link that lost its end shows no other data, and a time that is none is named", async () => {
  const { page, forgive, leave } = await visit(
    server,
    `explore?q={service_name%3D"cart"&from=banana&to=2026-11-29T04:00Z`,
  );
  forgive("status of 400");
  await page.getByRole("heading", { name: text.states.refused }).waitFor();
  await page.getByText(text.states.unread("from=banana")).waitFor();
  expect(await page.getByLabel(text.filters.text).inputValue()).toBe('{service_name="cart"');
  expect(await page.getByText(text.filters.allServices).count()).toBe(0);
  await expectAccessible(page);
  await leave();
});

test("a filter is made by keys alone, and a pattern that is none is refused where it is typed", async () => {
  const { page, leave } = await visit(server, CART);
  await settled(page);
  await page.getByRole("button", { name: text.filters.add, exact: true }).click();
  await page.locator(".choices").waitFor();
  await page.keyboard.type("pod");
  await page.keyboard.press("Enter");
  await page.getByRole("combobox", { name: text.filters.value("pod") }).waitFor();
  await page.getByTitle(text.filters.operators["=~"]).click();
  await page.getByRole("combobox").focus();
  await page.keyboard.type("cart-[1");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText(text.view.badPattern).waitFor();
  expect(page.url()).not.toContain("cart-");
  await page.keyboard.type("]");
  await page.keyboard.press("Enter");
  await page.getByRole("combobox").waitFor({ state: "detached" });
  expect(decodeURIComponent(page.url())).toContain('pod=~"cart-[1]"');
  await leave();
});

test("whoever opens a link elsewhere sees by which clock it is written", async () => {
  const { page, leave } = await visit(server, CART, { zone: "Asia/Kolkata" });
  await settled(page);
  await page.getByRole("button", { name: `${text.time.range}: 2026-11-29 08:00 – 09:30 +05:30` }).waitFor();
  expect(await page.locator(".header .tag").innerText()).toBe("+05:30");
  await leave();
});

test("live leaves a fixed range for one that ends now", async () => {
  const { page, leave } = await visit(server, CART);
  await settled(page);
  await page.getByRole("button", { name: text.header.live, exact: true }).click();
  await page.waitForURL(/live=1/);
  const query = new URL(page.url()).searchParams;
  expect([query.get("from"), query.get("to")]).toEqual(["now-90m", null]);
  await page.goBack();
  await settled(page);
  expect(page.url()).toContain("to=2026-11-29T04:00Z");
  await leave();
});

test("the range and the question go along from page to page", async () => {
  const { page, leave } = await visit(server, CART);
  await settled(page);
  await page.getByRole("link", { name: text.nav.services, exact: true }).click();
  await page.getByRole("link", { name: text.services.missing }).click();
  await page.getByRole("heading", { name: text.missing.title }).waitFor();
  expect(page.url()).toContain("from=2026-11-29T02:30Z&to=2026-11-29T04:00Z");
  await page.getByRole("listitem").getByRole("link", { name: "checkout" }).click();
  await settled(page);
  expect(page.url()).toContain("from=2026-11-29T02:30Z&to=2026-11-29T04:00Z");
  await page.getByRole("link", { name: text.nav.services, exact: true }).click();
  await page.getByRole("link", { name: text.nav.explore, exact: true }).click();
  await settled(page);
  expect(await page.title()).toBe("checkout · Everflame");
  await leave();
});

test("a baseline with less data than the selection is no alarm", async () => {
  const { page, leave } = await visit(server, `${CART}&b.lens=-45m`);
  await settled(page);
  await page.getByText(text.compare.partly("50.0 %", "100.0 %")).waitFor();
  await page.getByText(text.compare.modes.share, { exact: true }).click();
  await settled(page);
  expect(await page.locator(".compare-line .warn-text").count()).toBe(0);
  await page.locator(".flame-details", { hasText: "same by share" }).waitFor();
  await page
    .locator(".function-table")
    .getByText(/^[+−]\d+\.\d pp$/)
    .first()
    .waitFor();
  await leave();
});

test("a service that never was is not sought in another range", async () => {
  const { page, leave } = await visit(server, CART.replace("cart", "cratt"));
  await page.getByRole("heading", { name: text.states.unknownService("cratt") }).waitFor();
  await expectAccessible(page);
  await leave();
});

test("lines of a grouped chart are read, made to stand out, and filtered by", async () => {
  const { page, leave } = await visit(server, `${CART}&g=pod`);
  await settled(page);
  const legend = page.locator(".legend button").first();
  const pod = await legend.locator("span").innerText();
  const figure = () => legend.locator("b").innerText();
  const mean = await figure();
  const chart = await page.locator(".brush").boundingBox();
  if (!chart) throw new Error("no chart");
  // 03:12, in the spike.
  await page.mouse.move(chart.x + (chart.width * 42) / 90, chart.y + 30);
  await page.locator(".cross").waitFor();
  expect(Number.parseFloat(await figure())).toBeGreaterThan(1.5 * Number.parseFloat(mean));
  await page.mouse.down();
  await page.mouse.move(chart.x + (chart.width * 45) / 90, chart.y + 30, { steps: 3 });
  await page.mouse.up();
  await settled(page);
  // The words are about what was chosen, though the pointer has not left.
  await page
    .locator(".figures")
    .getByText(/^mean /)
    .waitFor();
  await legend.click();
  expect(await legend.getAttribute("aria-pressed")).toBe("true");
  expect(page.url()).not.toContain(`pod="${pod}"`);
  await expectAccessible(page);
  await page.getByRole("button", { name: text.timeline.show(pod), exact: true }).click();
  await settled(page);
  const link = decodeURIComponent(page.url());
  expect(link).toContain(`pod="${pod}"`);
  expect(link).toContain("g=pod");
  expect(await page.locator(".trust").innerText()).toMatch(/1 series/);
  await leave();
});

test("a selected part beyond the range, and a label that nobody has, are said", async () => {
  const { page, leave } = await visit(server, `${CART}&lens=2026-11-28T03:10Z/PT5M&g=nope`);
  await settled(page);
  await page.getByText(text.timeline.lensOutside).waitFor();
  await page.getByText(text.timeline.noLabel("nope")).waitFor();
  await expectAccessible(page);
  await leave();
});

test("a row of the table is what the words under the picture are about", async () => {
  const { page, leave } = await visit(server, `${CART}&b.lens=-5m&lens=2026-11-29T03:10Z/PT5M`);
  await settled(page);
  await page.locator(".function-table tbody th", { hasText: "lz4::decompress" }).click();
  await page.mouse.move(5, 5);
  await page.locator(".flame-details-name", { hasText: "lz4::decompress" }).waitFor();
  await leave();
});
