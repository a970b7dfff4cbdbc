// Watching live: the page asks again by itself, and what the reader has chosen stays.

import { afterAll, expect, inject, test } from "vitest";
import { closeBrowser, settled, visit, words } from "./browser.ts";

const server = inject("server");
const text = words.en;

afterAll(closeBrowser);

test("live shows new profiles by itself and keeps the focus", async () => {
  const push = async (samples: number) => {
    const query = new URLSearchParams({ service: "live", format: "folded", sample_rate: "100" });
    const body = `main;serve;work ${samples}\nmain;wait ${samples}`;
    expect((await fetch(`${server}/api/v1/push?${query}`, { method: "POST", body })).ok).toBe(true);
  };
  await push(100);
  const { page, leave } = await visit(server, `explore?q={service_name%3D"live"}`);
  await settled(page);
  await page.locator(".flame-tree").focus();
  for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  await settled(page);
  const focused = await page.locator(".flame-crumbs [aria-current]").innerText();
  expect(focused).toMatch(/serve|wait/);
  await page.getByRole("button", { name: text.header.live, exact: true }).click();
  expect(page.url()).toContain("live=1");
  await push(250);
  // 100 and 250 samples at 100 per second, in both branches.
  await page.locator(".flame-details", { hasText: "3.50 s" }).waitFor();
  expect(await page.locator(".flame-crumbs [aria-current]").innerText()).toBe(focused);
  expect(await page.title()).toBe("live · Everflame");
  await page.getByRole("button", { name: text.header.live, exact: true }).click();
  expect(page.url()).not.toContain("live=1");
  await leave();
});
