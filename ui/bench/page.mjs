// The budgets of the whole page: sizes of what was built, and the page on a real server over a tree of 100,000 nodes.
// Needs `npm run build` (made here where it is missing) and the server's program: EVERFLAME_BIN, or what cargo built last.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = new URL("../", import.meta.url).pathname;
const app = join(root, "dist/app");
const ROUNDS = 4;

export const PAGE_LINES = [
  "click on a service to its picture, 100 k nodes",
  "elements on Explore",
  "rows of tables alive",
  "items of the accessible tree",
  "requests to other origins",
];

/** The lines of the size script as figures. */
export function sizeFigures() {
  if (!existsSync(join(app, "index.html"))) execFileSync("npm", ["run", "--silent", "build"], { cwd: root });
  let lines = "";
  try {
    lines = execFileSync("node", ["scripts/size.mjs"], { cwd: root, encoding: "utf8" });
  } catch (error) {
    lines = String(error.stdout ?? "");
  }
  return [...lines.matchAll(/(\d+\.\d) KiB of +(\d+) +(.+)/g)].map(([, value, limit, name]) => ({
    name: `gzip: ${name}`,
    value: Number(value),
    limit: Number(limit),
    unit: "KiB",
  }));
}

function program() {
  const built = process.env.CARGO_TARGET_DIR ?? join(root, "../target");
  const found = [process.env.EVERFLAME_BIN, join(built, "release/everflame"), join(built, "debug/everflame")]
    .filter((path) => path && existsSync(path))
    .sort((left, right) => statSync(right).mtimeMs - statSync(left).mtimeMs);
  const path = process.env.EVERFLAME_BIN ?? found[0];
  if (!path) throw new Error("no server's program: run `cargo build --release --package cli`, or set EVERFLAME_BIN");
  return path;
}

async function startServer() {
  const folder = mkdtempSync(join(tmpdir(), "everflame-bench-data-"));
  const port = await new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
  const url = `http://127.0.0.1:${port}`;
  const options = ["server", "--data-dir", folder, "--listen", `127.0.0.1:${port}`, "--log-level", "warn"];
  const child = spawn(program(), [...options, "--ui-dir", app], { stdio: "inherit" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for (let tries = 0; tries < 300; tries++) {
    if (
      await fetch(`${url}/readyz`)
        .then((answer) => answer.ok)
        .catch(() => false)
    )
      return { url, stop };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await stop();
  throw new Error("the server is not ready");
}

/** From a click in the list of services to the picture, and what the document holds then. */
export async function pageFigures(context, folded) {
  const server = await startServer();
  try {
    const query = new URLSearchParams({
      service: "bench",
      format: "folded",
      name: "process_cpu",
      sample_rate: "100",
    });
    query.set("time", "2026-11-29T03:00:00Z");
    const pushed = await fetch(`${server.url}/api/v1/push?${query}`, { method: "POST", body: folded });
    if (!pushed.ok) throw new Error(`push: ${pushed.status} ${await pushed.text()}`);
    let best = null;
    for (let round = 0; round < ROUNDS; round++) {
      const visit = await visitOnce(context, server.url);
      if (best === null || visit.time < best.time) best = visit;
    }
    const { time, all, rows, items, strangers } = best;
    const limits = [400, 1_500, 60, 40, 0];
    return [time, all, rows, items, strangers].map((value, at) => ({
      name: PAGE_LINES[at],
      value,
      limit: limits[at],
      unit: at === 0 ? "ms" : "",
    }));
  } finally {
    await server.stop();
  }
}

async function visitOnce(context, url) {
  const page = await context.newPage();
  let strangers = 0;
  page.on("request", (request) => {
    if (!request.url().startsWith(`${url}/`) && !/^(data|blob):/.test(request.url())) strangers += 1;
  });
  await page.goto(`${url}/?from=2026-11-29T02:30Z&to=2026-11-29T04:00Z`);
  await page.getByRole("link", { name: "bench", exact: true }).waitFor();
  await page.waitForTimeout(500);
  const time = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const link = [...document.querySelectorAll("a")].find((one) => one.textContent === "bench");
        const begun = performance.now();
        link.click();
        const look = () => {
          const boxes = Number(document.querySelector(".flame-tree")?.dataset.boxes ?? 0);
          if (boxes > 1) resolve(performance.now() - begun);
          else requestAnimationFrame(look);
        };
        look();
      }),
  );
  await page.waitForTimeout(300);
  const counts = await page.evaluate(() => ({
    all: document.querySelectorAll("*").length,
    rows: document.querySelectorAll("tbody tr").length,
    items: document.querySelectorAll("[role=treeitem]").length,
  }));
  await page.close();
  return { time, strangers, ...counts };
}
