// What can be taken away: files open elsewhere and say the same, commands ask the same, and nothing asks another origin.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import type { Download, Page } from "playwright-core";
import { afterAll, expect, inject, test } from "vitest";
import { CART, closeBrowser, settled, visit, words } from "./browser.ts";
import { binary } from "./server.ts";

const server = inject("server");
const text = words.en;

afterAll(closeBrowser);

async function exported(page: Page, item: string): Promise<Buffer> {
  return readFileSync(await (await download(page, item)).path());
}

async function download(page: Page, item: string): Promise<Download> {
  const file = page.waitForEvent("download");
  await page.getByRole("button", { name: text.out.share }).click();
  await page.getByRole("menuitem", { name: item }).click();
  return file;
}

async function copied(page: Page, item: string): Promise<string> {
  await page.getByRole("button", { name: text.out.share }).click();
  await page.getByRole("menuitem", { name: item }).click();
  await page.locator(".toast").waitFor();
  return page.evaluate(() => navigator.clipboard.readText());
}

const run = (script: string) => execFileSync("sh", ["-c", script], { encoding: "utf8", maxBuffer: 1 << 26 });

test("PNG, SVG, pprof and a page of its own", async () => {
  const { page, context, leave } = await visit(server, CART);
  await settled(page);
  const png = await exported(page, text.out.png);
  expect(png.subarray(1, 4).toString()).toBe("PNG");
  expect(png.readUInt32BE(16)).toBe(2800);
  const svg = (await exported(page, text.out.svg)).toString();
  expect(svg).toMatch(/^<svg |^<\?xml/);
  expect(svg).toContain("decode::visit");
  expect(svg).not.toContain("<script");
  const pprof = gunzipSync(await exported(page, text.out.pprof)).toString("latin1");
  expect(pprof).toContain("rocks::get");

  const file = await download(page, text.out.html);
  expect(file.suggestedFilename()).toBe("cart-cpu-2026-11-29T02-30Z.html");
  const alone = await context.newPage();
  const asked: string[] = [];
  alone.on("request", (request) => asked.push(request.url()));
  const folder = mkdtempSync(join(tmpdir(), "everflame-out-"));
  const saved = join(folder, file.suggestedFilename());
  await file.saveAs(saved);
  const address = pathToFileURL(saved).href;
  await alone.goto(address);
  await alone.getByRole("button", { name: /^decode::request / }).click();
  expect(await alone.locator("#line").innerText()).toContain("decode::request");
  await alone.locator("#search").fill("decode");
  const share = await page.evaluate(() => document.querySelector(".flame-details")?.textContent);
  expect(share).toContain("100.0 %");
  expect(await alone.locator("#found").innerText()).toBe("32.1 %");
  expect(asked).toEqual([address]);
  rmSync(folder, { recursive: true });
  await leave();
});

test("a comparison goes out as one: colours, words and both sides", async () => {
  const { page, context, leave } = await visit(server, `${CART}&lens=2026-11-29T03:10Z/PT5M&b.lens=-5m`);
  await settled(page);
  const file = await download(page, text.out.html);
  const folder = mkdtempSync(join(tmpdir(), "everflame-out-"));
  const saved = join(folder, file.suggestedFilename());
  await file.saveAs(saved);
  const alone = await context.newPage();
  await alone.goto(pathToFileURL(saved).href);
  const box = alone.getByRole("button", { name: /^decode::visit / });
  expect(await box.innerText()).toMatch(/^×[\d.]+ +decode::visit$/);
  await box.hover();
  expect(await alone.locator("#line").innerText()).toMatch(/^decode::visit · ×[\d.]+ · Total .+ → /);
  expect(await alone.locator("p").first().innerText()).toBe(
    "2026-11-29 03:05 – 03:10 UTC → 2026-11-29 03:10 – 03:15 UTC",
  );
  // As on the screen: by name, so that the shape stays.
  const row = await alone.locator(".box").evaluateAll((boxes) =>
    boxes
      .filter((one) => (one as HTMLElement).style.top === "60px")
      .sort((a, b) => a.getBoundingClientRect().left - b.getBoundingClientRect().left)
      .map((one) => one.getAttribute("aria-label")?.split(" ")[0]),
  );
  expect(row).toEqual([...row].sort());
  expect(row.length).toBeGreaterThan(1);
  rmSync(folder, { recursive: true });

  const pprof = page.waitForEvent("download");
  await page.getByRole("button", { name: text.out.share }).click();
  await page.getByRole("menuitem", { name: `${text.out.pprof} ${text.compare.before}` }).click();
  expect((await pprof).suggestedFilename()).toBe("cart-cpu-2026-11-29T03-05Z.pb.gz");
  await page.getByText(text.out.saved("cart-cpu-2026-11-29T03-05Z.pb.gz")).first().waitFor();
  await leave();
});

test("the copied commands run and give the same total", async () => {
  const { page, leave } = await visit(server, `${CART}&lens=2026-11-29T03:10Z/PT5M`);
  await settled(page);
  const curl = await copied(page, text.out.curl);
  const tree = JSON.parse(run(`${curl} -s`)) as { total: number };
  const cli = await copied(page, text.out.cli);
  expect(cli).toContain("--from 2026-11-29T03:10Z --to 2026-11-29T03:15Z");
  const told = JSON.parse(run(`${cli.replace(/^everflame/, `'${binary()}'`)} --json`)) as { total: number };
  expect(told.total).toBe(tree.total);
  expect(await page.locator(".flame-details").innerText()).toContain(`${(tree.total / 60e9).toFixed(2)} min`);
  await leave();
});
