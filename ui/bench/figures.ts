// What is measured in the browser. Each figure is a time and a ratio to a bare loop over the same nodes in the same
// run: the ratio says more than the time on a busy machine. Counts come along where a budget is a count.

import { DARK } from "../src/flame/colour.ts";
import { layOut } from "../src/flame/layout.ts";
import { decodeFlame } from "../src/flame/model.ts";
import { parseQuery, searchMatches } from "../src/flame/search.ts";
import { ROW_HEIGHT, Stage } from "../src/flame/stage.ts";
import { sandwich, topTable } from "../src/flame/table.ts";
import { flameEn } from "../src/flame/text.ts";
import type { FlameModel } from "../src/flame/types.ts";
import { encodeFlame } from "../src/flame/wire.ts";
import { partsOf, randomTree } from "./tree.ts";

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly limit: number;
  readonly unit: string;
  /** To one bare loop over the same nodes; null for counts. */
  readonly ratio: number | null;
}

/** At least so many rounds, and more while they take less than so long: a busy machine has quiet moments. */
const ROUNDS_MIN = 15;
const ROUNDS_MS = 1_500;
const FIRST_ROUNDS = 4;
const SCREEN = { width: 1_400, height: 800 };
const numbers = {
  value: (value: bigint) => `${value}`,
  share: (share: number) => `${(share * 100).toFixed(1)} %`,
  count: (count: number) => `${count}`,
};

/** All figures of one size of tree. */
export async function measureAll(size: number): Promise<Figure[]> {
  const buffer = encodeFlame(partsOf(randomTree(size)));
  const label = size >= 1_000_000 ? `${size / 1_000_000} M` : `${size / 1_000} k`;
  const large = size >= 1_000_000;
  const figures: Figure[] = [];
  const add = (name: string, value: number, limit: number, unit: string, ratio: number | null) =>
    figures.push({ name: `${name}, ${label} nodes`, value, limit, unit, ratio });

  const warm = decodeFlame(buffer);
  const bare = best(() => bareLoop(warm)) / PASSES;
  const timed = (name: string, limit: number, act: () => void) => {
    const time = best(act);
    add(name, time, limit, "ms", time / bare);
  };
  timed("decode and layout", large ? 100 : 10, () => layOut(decodeFlame(buffer), { order: "size" }));
  if (!large) {
    const query = parseQuery("/route.*(decode|scan)/");
    timed("search by expression", 10, () => {
      if (query && !("error" in query)) searchMatches(warm, query);
    });
    timed("search by text", 10, () => {
      searchMatches(warm, { field: "name", pattern: "decode", text: "decode" });
    });
    timed("table of functions", 10, () => topTable(warm));
    const hottest = topTable(warm)[0]?.name ?? "";
    timed("callers and callees", 10, () => sandwich(warm, hottest));
  }
  await picture(buffer, bare, large, add);
  const layout = layOut(warm, { order: "size" });
  add("live memory", liveBytes(warm, layout) / 1e6, large ? 80 : 12, "MB", null);
  return figures;
}

/** Reads what any pass over the tree has to read, ten times: the clock has tenths of a millisecond. */
const PASSES = 10;
function bareLoop(model: FlameModel): number {
  let sum = 0;
  const words = model.total[0]?.words ?? new Int32Array(0);
  for (let pass = 0; pass < PASSES; pass++) sum ^= onePass(model, words);
  return sum;
}

function onePass(model: FlameModel, words: Int32Array): number {
  let sum = 0;
  for (let node = 0; node < model.size; node++) {
    sum += (words[node * 2] as number) ^ (model.depth[node] as number) ^ (model.frame[node] as number);
  }
  return sum;
}

/** The best of some rounds: what the code costs when nothing else runs. */
function best(act: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  const until = performance.now() + ROUNDS_MS;
  for (let round = 0; round < ROUNDS_MIN || performance.now() < until; round++) {
    const begun = performance.now();
    act();
    least = Math.min(least, performance.now() - begun);
  }
  return least;
}

function quantile(times: readonly number[], at: number): number {
  const sorted = [...times].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? 0;
}

const nextFrame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve));

/** First picture, pan, zoom and hover on real canvases. */
async function picture(
  buffer: ArrayBuffer,
  bare: number,
  large: boolean,
  add: (name: string, value: number, limit: number, unit: string, ratio: number | null) => void,
): Promise<void> {
  const look = {
    palette: DARK,
    colourBy: "package",
    diffMode: "share",
    text: flameEn(numbers),
    matches: null,
    focus: 0,
    chosenFrame: -1,
  } as const;
  const open = async () => {
    const parts = canvases();
    const begun = performance.now();
    const model = decodeFlame(buffer);
    const stage = new Stage(parts, model, layOut(model, { order: "size" }));
    stage.resize();
    stage.setLook(look, '"DejaVu Sans Mono", monospace');
    stage.draw();
    await nextFrame();
    const close = () => {
      stage.destroy();
      parts.scroller.remove();
    };
    return { stage, time: performance.now() - begun, close };
  };
  const first = await open();
  let { time } = first;
  if (!large) {
    for (let round = 0; round < FIRST_ROUNDS; round++) {
      const again = await open();
      time = Math.min(time, again.time);
      again.close();
    }
    add("reply to first picture", time, 60, "ms", time / bare);
  }
  const { stage } = first;
  const pans: number[] = [];
  let boxes = 0;
  let overVisited = 0;
  for (let step = 0; step < 160; step++) {
    const zoom = step < 80 ? 1.3 : 40;
    const x0 = (1 - 1 / zoom) * ((step % 80) / 80);
    const top = (step % 20) * ROW_HEIGHT * 2;
    stage.moveTo({ x0, x1: x0 + 1 / zoom, top }, false);
    const at = performance.now();
    stage.draw();
    pans.push(performance.now() - at);
    boxes = Math.max(boxes, stage.counters.boxes);
    overVisited = Math.max(overVisited, stage.counters.visited - 3 * stage.counters.boxes - stage.layout.rows);
    await nextFrame();
  }
  // The first few are the warming up of the browser's own code.
  const settled = pans.slice(8);
  add("script per pan frame, p50", quantile(settled, 0.5), 4, "ms", quantile(settled, 0.5) / bare);
  add("script per pan frame, p95", quantile(settled, 0.95), 8, "ms", quantile(settled, 0.95) / bare);
  add("boxes per picture", boxes, 8_000, "", null);
  add("nodes visited beyond 3 × boxes + rows", Math.max(0, overVisited), 0, "", null);
  await nextFrame();
  const drawn = stage.counters.pictures;
  const hits: number[] = [];
  for (let step = 0; step < 400; step++) {
    const at = performance.now();
    for (let one = 0; one < 20; one++) stage.hit((step * 37 + one * 71) % SCREEN.width, (step * 53 + one * 20) % 700);
    hits.push((performance.now() - at) / 20);
    stage.setHover(stage.hit((step * 37) % SCREEN.width, (step * 53) % 700));
    if (step % 40 === 0) await nextFrame();
  }
  await nextFrame();
  add("hit test", quantile(hits, 0.95), 0.2, "ms", quantile(hits, 0.95) / bare);
  add("pictures drawn by hovering", stage.counters.pictures - drawn, 0, "", null);
  first.close();
}

function canvases() {
  const scroller = document.createElement("div");
  scroller.style.cssText = `position:fixed;inset:0 auto auto 0;width:${SCREEN.width}px;height:${SCREEN.height}px;overflow-y:auto`;
  const held = document.createElement("div");
  held.style.cssText = "position:sticky;top:0;height:100%";
  const spacer = document.createElement("div");
  const picture = document.createElement("canvas");
  const outlines = document.createElement("canvas");
  for (const canvas of [picture, outlines]) canvas.style.cssText = "position:absolute;inset:0";
  held.append(picture, outlines);
  scroller.append(held, spacer);
  document.body.append(scroller);
  return { scroller, spacer, picture, outlines };
}

/** Bytes that model and layout hold: every buffer once, and names as the browser keeps them. */
export function liveBytes(model: FlameModel, layout: object): number {
  const buffers = new Set<ArrayBufferLike>();
  const visit = (value: unknown) => {
    if (ArrayBuffer.isView(value)) buffers.add(value.buffer);
    else if (Array.isArray(value) && typeof value[0] === "object") value.forEach(visit);
    else if (typeof value === "object" && value !== null && !Array.isArray(value))
      Object.values(value).forEach(visit);
  };
  visit({ ...model, strings: null, meta: null });
  visit(layout);
  const held = [...buffers].reduce((sum, buffer) => sum + buffer.byteLength, 0);
  return held + model.strings.reduce((sum, text) => sum + text.length + 24, 0);
}
