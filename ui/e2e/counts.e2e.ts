// What must stay small: elements on the page, rows and items that are alive, and requests.

import { afterAll, expect, inject, test } from "vitest";
import { closeBrowser, settled, visit } from "./browser.ts";

const server = inject("server");

afterAll(closeBrowser);

const COMPILER = `explore?q={service_name%3D"go-compiler"}&from=2026-11-29T19:00Z&to=2026-11-29T20:00Z`;

test("a profile of thousands of nodes keeps the page small", async () => {
  const { page, leave } = await visit(server, `${COMPILER}&view=flame+table+callers&fn=runtime.mallocgc`, {
    width: 2560,
    height: 1440,
  });
  await settled(page);
  await page.locator(".flame-tree").focus();
  for (let press = 0; press < 12; press += 1) await page.keyboard.press("ArrowDown");
  await settled(page);
  const counts = await page.evaluate(() => ({
    all: document.querySelectorAll("*").length,
    rows: document.querySelectorAll(".function-table tr").length,
    items: document.querySelectorAll("[role=treeitem]").length,
  }));
  const functions = await page.locator(".panel-foot").innerText();
  expect(Number(functions.replace(/\D/g, ""))).toBeGreaterThan(1000);
  expect(counts.all).toBeLessThanOrEqual(1500);
  expect(counts.rows).toBeGreaterThan(20);
  expect(counts.rows).toBeLessThanOrEqual(60);
  expect(counts.items).toBeGreaterThan(1);
  expect(counts.items).toBeLessThanOrEqual(40);
  await leave();
});

test("a view of Explore asks four questions, and typing a search asks none", async () => {
  const { page, leave } = await visit(server, COMPILER);
  await settled(page);
  const asked = () =>
    page.evaluate(() =>
      performance
        .getEntriesByType("resource")
        .map((one) => one.name)
        .filter((name) => name.includes("/api/")),
    );
  const first = await asked();
  expect(first.map((url) => new URL(url).pathname).sort()).toEqual([
    "/api/v1/flame",
    "/api/v1/series",
    "/api/v1/services",
    "/api/v1/timeline",
  ]);
  await page.locator("[data-search]").fill("gc");
  await page.locator(".match-share").waitFor();
  expect(await asked()).toEqual(first);
  await leave();
});
