// The boxes of the drawn flame graph agree with the command line to the last digit, box by box and both ways: every box
// that the picture has is one of the command line's with its path, its own value and its total, in its place; and every
// one of the command line's that is wide enough to be drawn is there. What is drawn is taken from the strokes on the
// canvas itself, and from the list that the strokes were made of.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { Stage } from "../src/flame/stage.ts";
import { closeBrowser, settled, visit } from "./browser.ts";
import { binary, startServer } from "./server.ts";

const server = inject("server");
afterAll(closeBrowser);

const WIDTH = 4000;
const ROW = 20;
/** CSS pixels below which boxes are drawn together, as one grey block. */
const LEAST = 2;

/** A box: names from the root down, then own value, total, left edge, right edge and row, in pixels. */
interface Box {
  readonly path: string;
  readonly self: string;
  readonly total: string;
  readonly x: number;
  readonly right: number;
  readonly row: number;
}

interface Told {
  readonly names: readonly string[];
  readonly parent: readonly number[];
  readonly name: readonly number[];
  readonly self: readonly bigint[];
  readonly total: readonly bigint[];
}

const SEPARATOR = "\u0001";

/** The command line's tree; whole numbers as they stand in the text, whatever their size. */
function ask(url: string, type: string, selector: string): Told {
  const options = ["--type", type, "--max-nodes", "0", "--server", url, "--json"];
  const text = execFileSync(binary(), ["flame", selector, ...options], { encoding: "utf8", maxBuffer: 1 << 28 });
  // Numbers beyond 2^53 would lose digits: they are read as text.
  const quoted = text.replace(/"(self|total)":\s*(-?\d+)/g, '"$1":"$2"');
  type Node = { readonly name: number; readonly parent: number; readonly self: string; readonly total: string };
  const { names, nodes } = JSON.parse(quoted) as { names: string[]; nodes: Node[] };
  return {
    names,
    parent: nodes.map((node) => node.parent),
    name: nodes.map((node) => node.name),
    self: nodes.map((node) => BigInt(node.self)),
    total: nodes.map((node) => BigInt(node.total)),
  };
}

/** The boxes that a picture of this width must have: siblings widest first, side by side inside their parent. */
function expected(told: Told): Box[] {
  const children: number[][] = told.parent.map(() => []);
  for (let node = 1; node < told.parent.length; node++) children[told.parent[node] ?? 0]?.push(node);
  const all = Number(told.total[0]);
  const boxes: Box[] = [];
  const open = [{ node: 0, path: "", left: 0, row: 0 }];
  for (let at = open.pop(); at; at = open.pop()) {
    const { node, path, left, row } = at;
    const total = told.total[node] ?? 0n;
    const pixels = (Number(total) / all) * WIDTH;
    if (pixels < LEAST) continue;
    boxes.push({
      path,
      self: String(told.self[node]),
      total: String(total),
      x: Math.round((left / all) * WIDTH),
      right: Math.round(((left + Number(total)) / all) * WIDTH),
      row,
    });
    let next = left;
    const order = (children[node] ?? []).sort((a, b) => Number((told.total[b] ?? 0n) - (told.total[a] ?? 0n)));
    for (const child of order) {
      const name = told.names[told.name[child] ?? 0] ?? "";
      open.push({ node: child, path: `${path}${SEPARATOR}${name}`, left: next, row: row + 1 });
      next += Number(told.total[child]);
    }
  }
  return boxes;
}

/** Asks page and command line for the same picture; how many boxes were compared. */
async function agree(url: string, service: string, type: string, range: string): Promise<number> {
  const selector = `{service_name="${service}"}`;
  const told = ask(url, type, selector);
  const depth = told.parent.reduce<number[]>((rows, parent, node) => {
    rows[node] = node === 0 ? 1 : (rows[parent] ?? 0) + 1;
    return rows;
  }, []);
  const height = depth.reduce((most, one) => Math.max(most, one), 0) * ROW + 700;
  const address = `explore?q=${encodeURIComponent(selector)}&t=${type}&${range}&view=flame`;
  const look = { width: WIDTH + 200, height, reducedMotion: true };
  const { page, leave } = await visit(url, "help", look);
  // Every filled rectangle since the canvas was last cleared from edge to edge.
  await page.addInitScript(() => {
    const strokes = new WeakMap<HTMLCanvasElement, number[][]>();
    const own = CanvasRenderingContext2D.prototype.fillRect;
    CanvasRenderingContext2D.prototype.fillRect = function (x, y, width, height) {
      const { canvas } = this;
      const clears = x === 0 && y === 0 && width === canvas.width && height === canvas.height;
      if (clears) strokes.set(canvas, []);
      else strokes.get(canvas)?.push([x, y, width, height]);
      own.call(this, x, y, width, height);
    };
    Object.assign(window, { strokesOf: (canvas: HTMLCanvasElement) => strokes.get(canvas) ?? [] });
  });
  await page.goto(`${url}/${address}`);
  await settled(page);
  // The graph as wide as the expectation says, whatever stands beside it.
  await page.evaluate((width) => {
    const tree = document.querySelector<HTMLElement>(".flame-tree");
    tree?.style.setProperty("inline-size", `${width}px`);
    tree?.style.setProperty("scrollbar-width", "none");
  }, WIDTH);
  await page.waitForFunction(
    (width) => document.querySelector<HTMLCanvasElement>(".flame-canvases canvas")?.width === width,
    WIDTH,
  );
  await settled(page);
  const drawn = await page.evaluate((separator) => {
    const tree = document.querySelector(".flame-tree") as HTMLElement;
    const { boxes, model, layout } = (tree as unknown as { readonly stage: Stage }).stage;
    const direction = tree.dataset["direction"];
    const canvas = tree.querySelector("canvas") as HTMLCanvasElement;
    const strokes = (window as unknown as { strokesOf: (of: HTMLCanvasElement) => number[][] }).strokesOf(canvas);
    const keyOf = (x: number, y: number) => `${x} ${y}`;
    const filled = new Map(strokes.map(([x, y, width]) => [keyOf(x ?? -1, y ?? -1), width ?? 0]));
    const all = [];
    for (let at = 0; at < boxes.count; at++) {
      const position = boxes.position[at] ?? 0;
      const x = boxes.x[at] ?? 0;
      const row = boxes.row[at] ?? 0;
      const right = x + (boxes.width[at] ?? 0);
      let path = "";
      const node = layout.node[position] ?? 0;
      for (let up = node; up !== 0; up = model.parent[up] ?? 0) {
        path = separator + (model.strings[model.frames.name[model.frame[up] ?? 0] ?? 0] ?? "") + path;
      }
      all.push({
        isBlock: boxes.blockEnd[at] !== 0,
        isRest: model.rest.has(node),
        // A gap of a pixel parts neighbours.
        isFilled: [right - x, right - x - 1].includes(filled.get(keyOf(x, row * 20)) ?? -1),
        box: {
          path,
          self: String(model.self[0]?.exact[node]),
          total: String(model.total[0]?.exact[node]),
          x,
          right,
          row,
        },
      });
    }
    return { all, direction, strokes: strokes.length, size: model.size, pruned: model.pruned, least: boxes.least };
  }, SEPARATOR);
  expect(drawn.direction).toBe("down");
  expect(drawn.least).toBe(LEAST);
  // Of a tree that is too large for the page the server leaves out what is far too narrow to be drawn, in a box of its own.
  if (!drawn.pruned) expect(drawn.size).toBe(told.parent.length);
  expect(drawn.all.filter((one) => !one.isFilled)).toEqual([]);
  // Hatching of boxes without symbols fills some of them once more; nothing else is on the canvas.
  expect(drawn.strokes).toBeGreaterThanOrEqual(drawn.all.length);
  const sorted = (boxes: readonly Box[]) =>
    boxes.map(({ path, self, total, x, right, row }) => `${row} ${x} ${right} ${self} ${total} ${path}`).sort();
  const shown = drawn.all.filter((one) => !one.isBlock && !one.isRest).map((one) => one.box);
  // Siblings of one size may stand in either order: their places are compared as a set, their values each.
  const wanted = expected(told);
  const byPath = (boxes: readonly Box[]) => sorted(boxes.map((box) => ({ ...box, x: 0, right: 0 })));
  expect(byPath(shown)).toEqual(byPath(wanted));
  const places = (boxes: readonly Box[]) => new Map(boxes.map((box) => [`${box.row} ${box.path}`, box]));
  const wantedAt = places(wanted);
  for (const box of shown) {
    const other = wantedAt.get(`${box.row} ${box.path}`);
    // Rounded edges may differ by the pixel that the order of additions is worth.
    expect(Math.abs(box.right - box.x - ((other?.right ?? 0) - (other?.x ?? 0))), box.path).toBeLessThanOrEqual(1);
  }
  await leave();
  return shown.length;
}

const RECORDED = "from=2026-11-29T00:00Z&to=2026-11-30T00:00Z";

test.each([
  ["go-hot", "cpu"],
  ["go-hot", "inuse_space"],
  ["go-hot", "alloc_objects"],
  ["go-compiler", "cpu"],
  ["rust-hot", "cpu"],
  ["node-hot", "wall"],
  ["cart", "cpu"],
  ["search", "cpu"],
])("boxes of %s %s", async (service, type) => {
  expect(await agree(server, service, type, RECORDED)).toBeGreaterThan(5);
});

const CORPUS = new URL("../../../shared/corpus/pprof", import.meta.url).pathname;
const FILES = [
  "profefe/collector_cpu_1.prof",
  "parca/1644509299337903000.pb.gz",
  "profefe/collector_heap_2.prof",
  "pyroscope/dotnet.labels.pprof",
  "pyroscope/cpu_go_truncated_1.pb.gz",
];
const serviceOf = (file: string) => `corpus.${file.replace("/", ".")}`;

describe.skipIf(!existsSync(CORPUS))("profiles of other projects (skipped without ../shared)", () => {
  interface Service {
    readonly name: string;
    readonly types: readonly string[];
    readonly last: string;
  }
  let services: readonly Service[] = [];
  let others: Awaited<ReturnType<typeof startServer>>;

  beforeAll(async () => {
    others = await startServer();
    for (const file of FILES) {
      execFileSync(binary(), ["push", `${CORPUS}/${file}`, "--service", serviceOf(file), "--server", others.url]);
    }
    const answer = await fetch(`${others.url}/api/v1/services?from=1971-01-01T00:00:00Z&to=2100-01-01T00:00:00Z`);
    services = ((await answer.json()) as { services: Service[] }).services;
  });

  afterAll(() => others.stop());

  test.each(FILES)("boxes of %s", async (file) => {
    const service = services.find((one) => one.name === serviceOf(file));
    const last = Date.parse(service?.last ?? "");
    const [from, to] = [last - 3_600_000, last + 3_600_000].map((time) => new Date(time).toISOString());
    const range = `from=${from}&to=${to}`;
    expect(await agree(others.url, serviceOf(file), service?.types[0] ?? "", range)).toBeGreaterThan(5);
  });
});
