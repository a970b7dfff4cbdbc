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
