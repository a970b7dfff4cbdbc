// Fails when the built page weighs more than its budget, in KiB of gzip. Run after `npm run build`.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const root = new URL("../dist/app/", import.meta.url).pathname;
const assets = readdirSync(root, { recursive: true })
  .map(String)
  .filter((name) => /\.(js|css|html|svg)\.gz$/.test(name));
const html = readFileSync(join(root, "index.html"), "utf8");
const kib = (names) => names.reduce((sum, name) => sum + statSync(join(root, name)).size, 0) / 1024;
const first = (name) => html.includes(name.replace(/\.gz$/, "")) || name.includes("explore");

const lines = [
  ["shell and Explore, JavaScript", kib(assets.filter((name) => name.endsWith(".js.gz") && first(name))), 70],
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
