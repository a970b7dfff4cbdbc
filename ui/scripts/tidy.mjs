// What the linter cannot know: every source file opens with a comment that says what it is for, none is longer than
// 400 lines, none names another origin, and only one module calls fetch and only one touches the address bar.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const LINES_MAX = 400;
const root = new URL("../", import.meta.url).pathname;
const files = ["src", "e2e", "bench", "scripts"].flatMap((folder) => {
  try {
    return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(ts|tsx|mjs|css)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
  } catch {
    return [];
  }
});

const faults = [];
for (const file of files) {
  const text = readFileSync(join(root, file), "utf8");
  const lines = text.split("\n").length - 1;
  if (lines > LINES_MAX) faults.push(`${file}: ${lines} lines, at most ${LINES_MAX}`);
  if (!/^(\/\/|\/\*)/.test(text)) faults.push(`${file}: no comment at the top that says what it is for`);
  if (!file.startsWith("src/")) continue;
  const test = /\.test\.tsx?$/.test(file);
  if (!test && /\bfetch\(/.test(text) && file !== "src/data/http.ts")
    faults.push(`${file}: fetch belongs to data/http.ts`);
  if (!test && /\bhistory\.(push|replace)State/.test(text) && file !== "src/state/url.ts") {
    faults.push(`${file}: the address bar belongs to state/url.ts`);
  }
  if (/url\(\s*["']?https?:|@import/.test(text)) faults.push(`${file}: style from another origin`);
}
for (const fault of faults) console.log(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
