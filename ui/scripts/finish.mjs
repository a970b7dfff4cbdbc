// The last step of a build: compress what compresses (the server embeds the compressed forms) and write BUILD, the hash
// of all files, last: a build that stopped half-way has none.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const root = new URL("../dist/app/", import.meta.url).pathname;
const files = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && !entry.parentPath.includes("/.vite"))
  .map((entry) => join(entry.parentPath, entry.name))
  .sort();
const hash = createHash("sha256");
for (const file of files) {
  const body = readFileSync(file);
  hash.update(`${relative(root, file)}\0${body.length}\0`).update(body);
  if (!/\.(js|css|html|svg|json)$/.test(file)) continue;
  writeFileSync(`${file}.gz`, gzipSync(body, { level: 9 }));
  writeFileSync(`${file}.br`, brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
}
writeFileSync(join(root, "BUILD"), `${hash.digest("hex")}\n`);
console.log(`dist/app: ${files.length} files`);
