// Takes the pictures that people look at before a change is called done: every view at 360, 1,400 and 2,560 px, in both
// themes, some in Chinese. It asserts nothing but that the views come up.

import { mkdirSync } from "node:fs";
import { afterAll, inject, test } from "vitest";
import { CART, closeBrowser, RANGE, settled, visit } from "./browser.ts";
import { startServer } from "./server.ts";

const server = inject("server");
const folder = process.env["SCREENSHOTS"] ?? new URL("./out", import.meta.url).pathname;
mkdirSync(folder, { recursive: true });

afterAll(closeBrowser);

const SPIKE = `${CART}&lens=2026-11-29T03:10Z/PT5M`;
const COMPILER = `explore?q={service_name%3D"go-compiler"}&from=2026-11-29T19:00Z&to=2026-11-29T20:00Z`;
const VIEWS = {
  services: `?${RANGE}`,
  explore: CART,
  compare: `${SPIKE}&b.lens=-5m&g=pod`,
  compiler: `${COMPILER}&view=flame+table+callers&fn=runtime.mallocgc&s=gc`,
  empty: `explore?q={service_name%3D"cart"}&from=2026-11-29T06:00Z&to=2026-11-29T07:00Z`,
  missing: "status/ingest",
} as const;
const SIZES = [
  [360, 760],
  [1400, 900],
  [2560, 1440],
] as const;

const LOOKS = [
  ["light", "en"],
  ["dark", "en"],
  ["dark", "zh"],
] as const;

test.each(Object.entries(VIEWS))("%s", async (name, path) => {
  for (const [theme, language] of LOOKS) {
    for (const [width, height] of SIZES) {
      if (language === "zh" && width === 2560) continue;
      const { page, leave } = await visit(server, path, { theme, language, width, height });
      if (name === "services" || name === "missing") await page.waitForSelector("table, .known");
      else if (name === "empty") await page.waitForSelector(".state .button.primary");
      else await settled(page);
      await page.waitForTimeout(300);
      await page.screenshot({ path: `${folder}/${name}-${width}-${theme}-${language}.png`, fullPage: width === 360 });
      await leave();
    }
  }
});

test("first start", async () => {
  const empty = await startServer();
  try {
    for (const [theme, language] of LOOKS) {
      const { page, leave } = await visit(empty.url, "", { theme, language });
      await page.waitForSelector(".first");
      await page.screenshot({ path: `${folder}/first-1400-${theme}-${language}.png` });
      await leave();
    }
  } finally {
    await empty.stop();
  }
});
