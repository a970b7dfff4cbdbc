// Painting, with a recorder instead of a canvas: labels stay inside their boxes, colours are set once per bucket, found
// boxes can be seen however narrow, and nothing is drawn outside of the canvas.

import { describe, expect, test } from "vitest";
import { oddParts } from "../../bench/shapes.ts";
import { partsOf, randomTree } from "../../bench/tree.ts";
import { LIGHT } from "./colour.ts";
import { type Given, modelFrom } from "./fixtures.ts";
import { layOut } from "./layout.ts";
import { decodeFlame } from "./model.ts";
import { type Brush, type Canvas, measureWith, paint } from "./paint.ts";
import { type Look, Scene } from "./scene.ts";
import { parseQuery, searchMatches } from "./search.ts";
import { flameEn } from "./text.ts";
import type { FlameModel } from "./types.ts";
import { noBoxes, walk } from "./walk.ts";
import { encodeFlame } from "./wire.ts";

const CELL = 7.25;
const PIXELS = 1_400;

interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly fill: string;
}

/** A brush that writes down what it is asked for. */
function recorder() {
  const rects: Rect[] = [];
  const texts: { text: string; x: number; y: number; right: number }[] = [];
  let fill = "";
  let fillsSet = 0;
  // Latin cells, everything else twice as wide; isolates have no width.
  const width = (text: string) =>
    [...text.replace(/[\u2068\u2069]/g, "")].reduce((sum, one) => sum + CELL * (/[\x20-\x7e…]/.test(one) ? 1 : 2), 0);
  const brush = {
    fillRect: (x: number, y: number, w: number, height: number) => rects.push({ x, y, width: w, height, fill }),
    strokeRect: (x: number, y: number, w: number, height: number) =>
      rects.push({ x, y, width: w, height, fill: "edge" }),
    fillText: (text: string, x: number, y: number) => texts.push({ text, x, y, right: x + width(text) }),
    measureText: (text: string) => ({ width: width(text) }),
    get fillStyle() {
      return fill;
    },
    set fillStyle(next: string) {
      fill = next;
      fillsSet++;
    },
    strokeStyle: "",
    lineWidth: 1,
    font: "",
    textBaseline: "alphabetic",
    direction: "ltr",
    globalAlpha: 1,
  };
  return { brush: brush as unknown as Brush, rects, texts, fillsSet: () => fillsSet };
}

const numbers = {
  value: (value: bigint) => `${value}`,
  share: (share: number) => `${(share * 100).toFixed(1)} %`,
  count: (count: number) => `${count}`,
};

function painted(model: FlameModel, change: Partial<Look> = {}, place: Partial<Canvas> = {}) {
  const layout = layOut(model, { order: "size" });
  const look: Look = {
    palette: LIGHT,
    colourBy: "package",
    diffMode: "share",
    text: flameEn(numbers),
    matches: null,
    focus: 0,
    chosenFrame: -1,
    ...change,
  };
  const canvas: Canvas = {
    width: PIXELS,
    height: 800,
    rowHeight: 20,
    top: 0,
    direction: "down",
    ratio: 1,
    font: "12px mono",
    ...place,
  };
  const sight = { x0: 0, x1: 1, rowFirst: 0, rowEnd: 40, pixels: PIXELS, least: 2, boxesMax: 8_000 };
  const boxes = walk(layout, sight, noBoxes());
  const record = recorder();
  const measure = measureWith(record.brush, canvas.font);
  const result = paint(record.brush, new Scene(model, layout, look), boxes, canvas, measure, "hatch");
  return { ...record, ...result, visited: boxes.visited };
}

const large = decodeFlame(encodeFlame(partsOf(randomTree(20_000))));

describe("a picture", () => {
  test.each(["down", "up"] as const)("keeps every label inside its box: root %s", (direction) => {
    for (const model of [large, decodeFlame(encodeFlame(oddParts()))]) {
      const { texts, rects, labels } = painted(model, {}, { direction });
      expect(labels).toBeGreaterThan(10);
      const out = texts.filter(
        ({ x, y, right }) =>
          !rects.some(
            (box) => box.height === 19 && x >= box.x && right <= box.x + box.width + 1 && y > box.y && y < box.y + 20,
          ),
      );
      expect(out).toEqual([]);
    }
  });

  test("draws inside the canvas and sets one colour per bucket", () => {
    const { rects, fillsSet, boxes } = painted(large);
    expect(rects.filter((box) => box.x < 0 || box.x + box.width > PIXELS || box.width <= 0)).toEqual([]);
    expect(boxes).toBeGreaterThan(1_000);
    expect(fillsSet()).toBeLessThan(100);
  });

  test("puts the root above or below", () => {
    const model = modelFrom(["", 0, ["a", 5]]);
    const rows = (direction: "down" | "up") => {
      const { texts } = painted(model, {}, { direction });
      return ["total", "a"].map((name) => texts.find(({ text }) => text === name)?.y);
    };
    expect(rows("down")).toEqual([10, 30]);
    expect(rows("up")).toEqual([790, 770]);
  });

  test("shows a match that is too narrow to see", () => {
    const many: Given[] = Array.from({ length: 3_000 }, (_, at) => [`f${at}`, 1] as const);
    const model = modelFrom(["", 0, ["big", 30_000], ["needle", 1], ...many]);
    const query = parseQuery("needle");
    if (!query || "error" in query) throw new Error("no query");
    const { rects } = painted(model, { matches: searchMatches(model, query) });
    const found = rects.filter((box) => box.fill === LIGHT.match);
    expect(found.length).toBe(1);
    expect(found[0]?.width).toBeGreaterThanOrEqual(2);
  });

  test("edges the boxes of a chosen function, and hatches what is without symbols or gone", () => {
    const model = modelFrom(["", 0, ["a", 5], ["b", 5, ["a", 2]]]);
    const frame = model.frame[1] as number;
    expect(painted(model, { chosenFrame: frame }).rects.filter(({ fill }) => fill === "edge")).toHaveLength(2);
    const diff = modelFrom(["", [0, 0], ["stays", [5, 5]], ["left", [5, 0]]]);
    expect(painted(diff, { colourBy: "diff" }).rects.filter(({ fill }) => fill === "hatch")).toHaveLength(1);
  });

  test("says in words how a box changed", () => {
    const diff = modelFrom([
      "",
      [0, 0],
      ["stays", [50, 50]],
      ["left", [50, 0]],
      ["grown", [50, 100]],
      ["fresh", [0, 50]],
    ]);
    const words = painted(diff, { colourBy: "diff", diffMode: "absolute" }).texts.map(({ text }) => text);
    expect(words).toEqual(expect.arrayContaining(["same", "gone", "×2.0", "new"]));
  });
});

test("in a comparison a name gives up where it begins for the word of its change", () => {
  const model = modelFrom(["", [0, 0], ["regexp.(*Regexp).MatchString", [10, 50]], ["zz", [1, 1]]]);
  const layout = layOut(model, { order: "name" });
  const numbers = { value: String, share: String, count: String };
  const look: Look = {
    palette: LIGHT,
    colourBy: "diff",
    diffMode: "absolute",
    text: flameEn(numbers),
    matches: null,
    focus: 0,
    chosenFrame: -1,
  };
  const boxes = noBoxes();
  walk(layout, { x0: 0, x1: 1, rowFirst: 0, rowEnd: 2, pixels: PIXELS, least: 1, boxesMax: 10 }, boxes);
  const scene = new Scene(model, layout, look);
  const at = [...boxes.position.subarray(0, boxes.count)].findIndex(
    (one) => model.frame[layout.node[one] ?? 0] === 1,
  );
  const measure = { cell: CELL, ellipsis: CELL, width: (text: string) => text.length * CELL };
  const shown = (cells: number) => {
    const { name, note } = scene.label(boxes, at, cells * CELL, measure);
    return `${name} ${note}`.trim();
  };
  expect(shown(33)).toBe("regexp.(*Regexp).MatchString ×5.0");
  expect(shown(30)).toBe("(*Regexp).MatchString ×5.0");
  expect(shown(16)).toBe("MatchString ×5.0");
  // Too little for both: a name that is cut says more than a number alone.
  expect(shown(12)).toBe("MatchString");
});
