// `npm run bench` = `make bench-ui`: builds the bench page, opens it in headless Chromium without a GPU and prints one
// line per budget: ok or short, value, limit, ratio to a bare loop. Then the sizes of the built page, and the page itself
// on a real server. A word as argument runs the lines with that word alone. Ends with 1 when something is short.
// `node bench/run.mjs --look DIR NAME=QUERY…` takes pictures instead.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { chromium } from "playwright-core";
import { build } from "vite";
import { PAGE_LINES, pageFigures, sizeFigures } from "./page.mjs";

const root = new URL("../", import.meta.url).pathname;
const KINDS = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css" };
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--no-first-run",
  "--disable-sync",
];

/** Builds the page into a folder of its own and serves it. */
async function served() {
  const folder = mkdtempSync(join(tmpdir(), "everflame-bench-"));
  await build({
    root: join(root, "bench"),
    base: "./",
    configFile: false,
    logLevel: "warn",
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: { outDir: folder, emptyOutDir: true, target: "es2022" },
  });
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    try {
      const content = readFileSync(join(folder, path === "/" ? "index.html" : path));
      response.writeHead(200, { "content-type": KINDS[extname(path)] ?? KINDS[".html"] });
      response.end(content);
    } catch {
      response.writeHead(404);
      response.end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.close();
    rmSync(folder, { recursive: true });
  };
  return { url: `http://127.0.0.1:${server.address().port}/`, close };
}

async function withBrowser(act) {
  const site = await served();
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: FLAGS, timeout: 30_000 });
  try {
    return await act(browser, site.url);
  } finally {
    await browser.close();
    site.close();
  }
}

function print(figure) {
  const ok = figure.value <= figure.limit;
  const value = Number.isInteger(figure.value) ? String(figure.value) : figure.value.toFixed(2);
  const ratio = figure.ratio ? `   ${figure.ratio.toFixed(1)} × a bare loop` : "";
  const amount = `${value.padStart(8)} ${figure.unit.padEnd(3)} of ${String(figure.limit).padStart(5)}`;
  console.log(`${ok ? "ok   " : "short"} ${amount}   ${figure.name}${ratio}`);
  return ok;
}

async function bench(only) {
  const wanted = (figure) => !only || figure.name.includes(only);
  let short = 0;
  const printAll = (figures) => {
    for (const figure of figures.filter(wanted)) if (!print(figure)) short += 1;
  };
  await withBrowser(async (browser, url) => {
    const context = await browser.newContext({ viewport: { width: 1_440, height: 900 }, deviceScaleFactor: 1 });
    for (const size of [100_000, 1_000_000]) {
      const page = await context.newPage();
      await page.goto(url);
      printAll(await page.evaluate((nodes) => window.measureAll(nodes), size));
      await page.close();
    }
    printAll(sizeFigures());
    if (only && !PAGE_LINES.some((name) => name.includes(only))) return;
    const page = await context.newPage();
    await page.goto(url);
    const folded = await page.evaluate((nodes) => window.foldedTree(nodes), 100_000);
    try {
      printAll(await pageFigures(context, folded));
    } catch (error) {
      console.log(`short the page on a server is not measured: ${error.message}`);
      short += 1;
    }
  });
  process.exitCode = short === 0 ? 0 : 1;
}

async function look([folder, ...views]) {
  await withBrowser(async (browser, url) => {
    for (const view of views) {
      const [name, query = ""] = view.split(/=(.*)/s);
      const asked = new URLSearchParams(query);
      const [width, height] = (asked.get("size") ?? "1400x600").split("x").map(Number);
      const page = await browser.newPage({
        viewport: { width, height },
        deviceScaleFactor: Number(asked.get("ratio") ?? 1),
      });
      if (asked.has("forced")) await page.emulateMedia({ forcedColors: "active" });
      page.on("pageerror", (error) => console.log(`${name}: ${error.stack}`));
      await page.goto(`${url}?${query}`);
      await page.waitForSelector("[data-pictures]");
      const hover = asked.get("hover")?.split("x").map(Number);
      if (hover) await page.mouse.move(hover[0], hover[1]);
      const menu = asked.get("menu")?.split("x").map(Number);
      if (menu) await page.mouse.click(menu[0], menu[1], { button: "right" });
      const keys = asked.get("keys")?.split(",") ?? [];
      if (keys.length > 0) await page.locator("[role=tree]").focus();
      for (const key of keys) await page.keyboard.press(key);
      await page.waitForTimeout(300);
      await page.screenshot({ path: join(folder, `${name}.png`) });
      await page.close();
    }
  });
}

const [mode, ...rest] = process.argv.slice(2);
await (mode === "--look" ? look(rest) : bench(mode));
