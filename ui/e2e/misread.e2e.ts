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
