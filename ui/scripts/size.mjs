// Fails when the built page weighs more than its budget, in KiB of gzip. Run after `npm run build`.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const root = new URL("../dist/app/", import.meta.url).pathname;
const manifest = JSON.parse(readFileSync(join(root, ".vite/manifest.json"), "utf8"));
const assets = readdirSync(root, { recursive: true })
  .map(String)
  .filter((name) => /\.(js|css|html|svg)\.gz$/.test(name));
const kib = (names) => names.reduce((sum, name) => sum + statSync(join(root, name)).size, 0) / 1024;

/** Files of a chunk and of everything that it needs to run. */
function closure(keys) {
  const files = new Set();
  const seen = new Set();
  const visit = (key) => {
    if (seen.has(key)) return;
    seen.add(key);
    const chunk = manifest[key];
    if (!chunk) throw new Error(`${key} is not in the manifest`);
    files.add(`${chunk.file}.gz`);
    for (const inner of chunk.imports ?? []) visit(inner);
  };
  for (const key of keys) visit(key);
  return [...files];
}

const explore = closure(["index.html", "src/views/explore.tsx", "src/i18n/en.ts"]);
// The chart library is fetched beside the first picture, which does not wait for it.
const chart = closure(["src/widgets/line-chart.tsx"]).filter((name) => !explore.includes(name));
const lines = [
  ["shell and Explore, JavaScript", kib([...explore, "boot.js.gz"]), 70],
  ["the chart's library", kib(chart.filter((name) => name.endsWith(".js.gz"))), 24],
  ["style sheets", kib(assets.filter((name) => name.endsWith(".css.gz"))), 12],
  ["whole page, all chunks and languages", kib(assets), 120],
];
let over = false;
for (const [what, size, limit] of lines) {
  const ok = size <= limit && size > 0;
  over ||= !ok;
  console.log(`${ok ? "ok  " : "OVER"} ${size.toFixed(1).padStart(6)} KiB of ${String(limit).padStart(3)}  ${what}`);
}
process.exitCode = over ? 1 : 0;
