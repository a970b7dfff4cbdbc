// The walk: what is drawn covers what is there, and work follows what is drawn, not the size of the tree.

import { describe, expect, test } from "vitest";
import { partsOf, randomTree } from "../../bench/tree.ts";
import { type Given, modelFrom } from "./fixtures.ts";
import { hitAt } from "./hit.ts";
import { type FlameLayout, layOut } from "./layout.ts";
import { decodeFlame } from "./model.ts";
import type { FlameModel } from "./types.ts";
import { focusOn } from "./viewport.ts";
import { type Boxes, noBoxes, type Sight, walk } from "./walk.ts";
import { encodeFlame } from "./wire.ts";

const PIXELS = 1_400;
const sight = (change: Partial<Sight> = {}): Sight => ({
  x0: 0,
  x1: 1,
  rowFirst: 0,
  rowEnd: 40,
  pixels: PIXELS,
  least: 2,
  boxesMax: 8_000,
  ...change,
});

function random(size: number, seed = 1): FlameModel {
  return decodeFlame(encodeFlame(partsOf(randomTree(size, seed))));
}

/** Nodes that are wide enough and in sight, found by looking at all. */
function wideInSight(model: FlameModel, layout: FlameLayout, seen: Sight): number[] {
  const scale = seen.pixels / ((seen.x1 - seen.x0) * layout.span);
  const found: number[] = [];
  for (let at = 0; at < model.size; at++) {
    const row = model.depth[layout.node[at] as number] as number;
    const left = ((layout.left[at] as number) - seen.x0 * layout.span) * scale;
    const right = left + (layout.width[at] as number) * scale;
    const isWide = (layout.width[at] as number) * scale >= seen.least;
    const isThere = Math.min(seen.pixels, Math.round(right)) - Math.max(0, Math.round(left)) > 0;
    if (isWide && isThere && row >= seen.rowFirst && row < seen.rowEnd) found.push(at);
  }
  return found;
}

function drawn(boxes: Boxes): number[] {
  const found: number[] = [];
  for (let at = 0; at < boxes.count; at++) if (boxes.blockEnd[at] === 0) found.push(boxes.position[at] as number);
  return found.sort((left, right) => left - right);
}

describe("a walk", () => {
  const model = random(20_000);
  test.each(["size", "name"] as const)("draws every wide box in sight and no other: by %s", (order) => {
    const layout = layOut(model, { order });
    const views = [
      sight(),
      sight({ rowFirst: 7, rowEnd: 19 }),
      sight({ x0: 0.31, x1: 0.36 }),
      sight({ x0: 0.31, x1: 0.3101, rowFirst: 12 }),
      sight({ least: 30, pixels: 333 }),
    ];
    for (const one of views) {
      const boxes = walk(layout, one, noBoxes());
      expect(drawn(boxes)).toEqual(wideInSight(model, layout, one));
    }
  });

  test.each(["size", "name"] as const)(
    "covers narrow children with grey blocks, and nothing else: by %s",
    (order) => {
      const layout = layOut(model, { order });
      const boxes = walk(layout, sight(), noBoxes());
      const wrong: string[] = [];
      const covered = new Map<number, Uint8Array>();
      for (let at = 0; at < boxes.count; at++) {
        const row = boxes.row[at] as number;
        const pixels = covered.get(row) ?? new Uint8Array(PIXELS);
        covered.set(row, pixels);
        const x = boxes.x[at] as number;
        for (let pixel = x; pixel < x + (boxes.width[at] as number); pixel++) {
          if (pixels[pixel] === 1) wrong.push(`row ${row}, pixel ${pixel} is drawn twice`);
          pixels[pixel] = 1;
        }
      }
      // Whoever asks for the middle of a drawn pixel gets a box, whoever asks beside gets none.
      for (let pixel = 0; pixel < PIXELS; pixel += 7) {
        for (const [row, pixels] of covered) {
          const hit = hitAt(model, layout, (pixel + 0.5) / PIXELS, row, boxes.least / PIXELS);
          const near = [pixels[pixel - 1], pixels[pixel], pixels[pixel + 1]];
          if (near.every((one) => one === 1) && !hit) wrong.push(`row ${row}, pixel ${pixel}: nothing is found`);
          if (near.every((one) => one === 0) && hit) wrong.push(`row ${row}, pixel ${pixel}: ${hit.node} is found`);
        }
      }
      expect(wrong).toEqual([]);
    },
  );

  test("draws a focus over the whole width, with its callers above", () => {
    const layout = layOut(model, { order: "size" });
    const node = layout.node[layout.rowStart[6] as number] as number;
    const view = focusOn(model, layout, { width: PIXELS, height: 800, rowHeight: 20 }, node);
    const boxes = walk(layout, sight({ x0: view.x0, x1: view.x1 }), noBoxes());
    for (let row = 0; row <= 6; row++) {
      const inRow = Array.from({ length: boxes.count }, (_, at) => at).filter((at) => boxes.row[at] === row);
      expect(inRow).toHaveLength(1);
      expect(boxes.width[inRow[0] as number]).toBe(PIXELS);
    }
  });

  test("never draws more boxes than allowed: what is merged grows until they fit", () => {
    const layout = layOut(model, { order: "size" });
    const boxes = walk(layout, sight({ least: 0.5, boxesMax: 300, rowEnd: 119 }), noBoxes());
    expect(boxes.count).toBeLessThanOrEqual(300);
    expect(boxes.least).toBeGreaterThan(2);
  });

  test("draws nothing where there is nothing", () => {
    const layout = layOut(modelFrom(["", 0]), { order: "size" });
    expect(walk(layout, sight(), noBoxes()).count).toBe(0);
    const one = layOut(modelFrom(["", 5]), { order: "size" });
    expect(walk(one, sight({ rowFirst: 3 }), noBoxes()).count).toBe(0);
    expect(walk(one, sight(), noBoxes()).count).toBe(1);
  });
});

describe("work follows what is drawn", () => {
  const limits = (boxes: Boxes, rows: number) => {
    expect(boxes.visited).toBeLessThanOrEqual(3 * boxes.count + rows);
    expect(boxes.count).toBeLessThanOrEqual(8_000);
  };

  test.each([10_000, 100_000, 300_000])("at %i nodes, wherever one looks", (size) => {
    const model = random(size);
    const layout = layOut(model, { order: "size" });
    for (const zoom of [1, 10, 1_000, 1e6]) {
      for (let place = 0; place < 1; place += 0.09) {
        for (const rowFirst of [0, 15, 60]) {
          const x0 = place * (1 - 1 / zoom);
          const boxes = walk(layout, sight({ x0, x1: x0 + 1 / zoom, rowFirst, rowEnd: rowFirst + 45 }), noBoxes());
          // What is searched first (a few halvings per row) is no work that grows with the tree.
          limits(boxes, layout.rows + 40 + (boxes.count === 0 ? 40 : 0));
        }
      }
    }
  });

  test("c093_many_boxes: 175,000 distinct frames, most of them below a pixel", () => {
    const frames: Given[] = Array.from({ length: 174_950 }, (_, at) => [`pkg${at % 900}.function_${at}`, 1] as const);
    const wide: Given[] = Array.from({ length: 50 }, (_, at) => [`wide.function_${at}`, 4_000] as const);
    const model = modelFrom(["", 0, ["main", 0, ...wide, ...frames]]);
    expect(new Set(model.strings).size).toBeGreaterThan(175_000);
    for (const order of ["size", "name"] as const) {
      const layout = layOut(model, { order });
      const whole = walk(layout, sight(), noBoxes());
      expect(whole.count).toBeGreaterThanOrEqual(53);
      limits(whole, layout.rows + (order === "name" ? 4_000 : 0));
      // Sub-pixel boxes are merged, and together they still take their room.
      const grey = Array.from({ length: whole.count }, (_, at) => at).filter((at) => whole.blockEnd[at] !== 0);
      const greyWidth = grey.reduce((sum, at) => sum + (whole.width[at] as number), 0);
      expect(greyWidth).toBeGreaterThan((PIXELS * 174_950) / 374_950 - 60);
      // Zoomed in a thousand times they are boxes of their own.
      const x0 = order === "size" ? 0.9 : 0.2;
      const near = walk(layout, sight({ x0, x1: x0 + 0.001 }), noBoxes());
      expect(near.count).toBeGreaterThan(300);
      limits(near, layout.rows + 40);
    }
  });
});
