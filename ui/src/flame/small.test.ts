// The small modules: path hashes, comparison, colours, keys, views, and what a screen reader is given.

import { describe, expect, test } from "vitest";
import { partsOf, randomTree } from "../../bench/tree.ts";
import { detailTexts, ITEMS_MAX, nameText, stackText, treeItems } from "./a11y.ts";
import { DARK, DIFF_STEPS, diffStep, LIGHT, stableHash, valueStep } from "./colour.ts";
import { changeOf, compareValues, strengthOf } from "./diff.ts";
import { type Given, modelFrom } from "./fixtures.ts";
import { commandFor } from "./keys.ts";
import { layOut } from "./layout.ts";
import { decodeFlame } from "./model.ts";
import { neighbour } from "./moves.ts";
import { findByPathHash, pathHash } from "./path.ts";
import { timesText } from "./scene.ts";
import { flameEn, flameZh } from "./text.ts";
import { between, clamp, focusOn, reveal, sameView, WHOLE, zoomAt } from "./viewport.ts";
import { encodeFlame } from "./wire.ts";

const numbers = {
  value: (value: bigint) => `${value} ns`,
  share: (share: number) => `${(share * 100).toFixed(1)} %`,
  count: (count: number) => `${count}`,
};
const text = flameEn(numbers);

describe("a path hash", () => {
  const model = decodeFlame(encodeFlame(partsOf(randomTree(5_000, 3))));
  test("finds every node again, and is no other node's", () => {
    const hashes = Array.from({ length: model.size }, (_, node) => pathHash(model, node));
    expect(new Set(hashes).size).toBe(model.size);
    for (let node = 0; node < model.size; node += 97)
      expect(findByPathHash(model, hashes[node] as string)).toBe(node);
  });

  test("goes by names, whatever the place in other data", () => {
    const before = modelFrom(["", 0, ["a", 9, ["b", 1]], ["c", 1]]);
    const after = modelFrom(["", 0, ["c", 99], ["a", 1, ["z", 9], ["b", 1]]]);
    expect(findByPathHash(after, pathHash(before, 2))).toBe(4);
    expect(findByPathHash(after, pathHash(before, 0))).toBe(0);
    expect(findByPathHash(modelFrom(["", 1, ["b", 1]]), pathHash(before, 2))).toBeNull();
  });

  test("stays the same from release to release", () => {
    const fixed = modelFrom(["", 0, ["main", 1, ["处理", 1]]]);
    expect([0, 1, 2].map((node) => pathHash(fixed, node))).toEqual([
      "6m2f6cyxpfbm5",
      "b02tmz4rnye2h",
      "29qk261f987s5",
    ]);
  });

  test.each(["", "x", "6m2f6cyxpfbm", "zzzzzzzzzzzzz", "6m2f6cyxpfbmI", "<script>12345"])("%j is none", (hash) => {
    expect(findByPathHash(model, hash)).toBeNull();
  });
});

describe("a comparison", () => {
  test.each([
    [0n, 5n, "new", 1],
    [5n, 0n, "gone", 1],
    [5n, 5n, "same", 1],
    [0n, 0n, "same", 1],
    [10n, 18n, "more", 1.8],
    [18n, 10n, "less", 1 / 1.8],
  ] as const)("of %s with %s says %s", (left, right, word, times) => {
    const change = compareValues(left, right, [100n, 100n], "absolute");
    expect(change.word).toBe(word);
    expect(change.times).toBeCloseTo(times);
    expect(compareValues(left, right, [100n, 100n], "share").word).toBe(word);
  });

  test("is written short", () => {
    expect([1.8, 12.4, 340, 1.07, 0.5, 0.001, 9.96].map(timesText)).toEqual([
      "1.8",
      "12",
      "340",
      "1.07",
      "0.50",
      "<0.01",
      "10",
    ]);
  });

  test("in shares ignores that everything grew", () => {
    const model = modelFrom(["", [0, 0], ["a", [10, 20]], ["b", [10, 20]]]);
    expect(changeOf(model, 1, "share").word).toBe("same");
    expect(changeOf(model, 1, "absolute")).toMatchObject({ word: "more", times: 2, leftShare: 0.5 });
    expect(strengthOf(model, 1, [20, 40], "share")).toBe(0);
  });

  test("paints what is tiny on both sides grey", () => {
    const model = modelFrom(["", [1_000_000, 1_000_000], ["one", [0, 1]], ["many", [0, 500_000]]]);
    expect(Math.abs(strengthOf(model, 1, [1_000_000, 1_500_001], "share"))).toBeLessThan(0.01);
    expect(strengthOf(model, 2, [1_000_000, 1_500_001], "share")).toBe(1);
  });
});

describe("colours", () => {
  /** Contrast by WCAG 2. */
  function contrast(one: string, other: string): number {
    const light = (hex: string) => {
      const part = (at: number) => {
        const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
        return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
      };
      return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
    };
    const [low, high] = [light(one), light(other)].sort((left, right) => left - right) as [number, number];
    return (high + 0.05) / (low + 0.05);
  }
  const mixed = (top: string, ground: string, alpha: number) =>
    `#${[1, 3, 5]
      .map((at) => {
        const part = (hex: string) => Number.parseInt(hex.slice(at, at + 2), 16);
        return Math.round(part(top) * alpha + part(ground) * (1 - alpha))
          .toString(16)
          .padStart(2, "0");
      })
      .join("")}`;

  test.each([
    ["light", LIGHT],
    ["dark", DARK],
  ])("have readable text on every box: %s", (_, palette) => {
    const boxes = [
      ...palette.ring,
      ...palette.values,
      ...palette.diffs,
      palette.kernel,
      palette.neutral,
      palette.rest,
    ];
    const poor = boxes.flatMap((box) => {
      const faded = mixed(box, palette.ground, 0.42);
      const note = mixed(palette.ink, box, 0.85);
      const found = [contrast(box, palette.ink), contrast(faded, palette.ink), contrast(box, note)];
      return found.every((one) => one >= 4.5) ? [] : [`${box}: ${found}`];
    });
    expect(poor).toEqual([]);
    expect(contrast(palette.match, palette.matchInk)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(mixed(palette.match, palette.ground, 0.42), palette.ink)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(palette.match, palette.ground)).toBeGreaterThanOrEqual(3);
  });

  test("of packages are 24 and all different", () => {
    expect(new Set(LIGHT.ring).size).toBe(24);
    expect(new Set(DARK.ring).size).toBe(24);
  });

  test("of a package are the same as in the terminal", () => {
    // FNV-1a over 64 bits, halves folded.
    const reference = (name: string) => {
      let hash = 0xcbf29ce484222325n;
      for (const byte of new TextEncoder().encode(name))
        hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
      return Number((hash ^ (hash >> 32n)) & 0xffff_ffffn);
    };
    for (const name of ["", "runtime", "net/http", "alloc", "处理"]) expect(stableHash(name)).toBe(reference(name));
  });

  test("of a comparison run from less over same to more", () => {
    expect([-1, 0, 1, 5].map(diffStep)).toEqual([0, (DIFF_STEPS - 1) / 2, DIFF_STEPS - 1, DIFF_STEPS - 1]);
    expect([0, 1, 2].map(valueStep)).toEqual([0, 11, 11]);
  });
});

describe("keys", () => {
  const press = (
    key: string,
    held: Partial<Record<"ctrlKey" | "altKey" | "metaKey" | "shiftKey", boolean>> = {},
  ) => ({
    key,
    ctrlKey: false,
    altKey: false,
    metaKey: false,
    shiftKey: false,
    ...held,
  });
  test("go as the boxes are drawn", () => {
    expect(commandFor(press("ArrowUp"), "down")).toEqual({ kind: "step", to: "caller" });
    expect(commandFor(press("ArrowUp"), "up")).toEqual({ kind: "step", to: "callee" });
  });
  test("leave the browser its own", () => {
    expect(commandFor(press("l", { ctrlKey: true }), "down")).toBeNull();
    expect(commandFor(press("d", { altKey: true }), "down")).toBeNull();
    expect(commandFor(press("Tab"), "down")).toBeNull();
    expect(commandFor(press("toString"), "down")).toBeNull();
    expect(commandFor(press("F10"), "down")).toBeNull();
    expect(commandFor(press("F10", { shiftKey: true }), "down")).toEqual({ kind: "menu" });
    expect(commandFor(press("c", { ctrlKey: true }), "down")).toEqual({ kind: "action", action: "copy-name" });
  });
});

describe("arrow keys", () => {
  const model = modelFrom(["", 0, ["b", 1, ["x", 1], ["w", 5]], ["a", 9]]);
  test.each([
    ["size", "a b", "w"],
    ["name", "a b", "w"],
  ] as const)("go along siblings as they stand and down to the widest: by %s", (order, row, widest) => {
    const layout = layOut(model, { order });
    const name = (node: number | null) => (node === null ? null : nameText(model, node, text));
    const first = neighbour(model, layout, 0, "callee") as number;
    expect(name(first)).toBe("a");
    const second = neighbour(model, layout, first, "after") as number;
    expect(`${name(first)} ${name(second)}`).toBe(row);
    expect(neighbour(model, layout, second, "after")).toBeNull();
    expect(neighbour(model, layout, second, "before")).toBe(first);
    expect(name(neighbour(model, layout, second, "callee"))).toBe(widest);
    expect(neighbour(model, layout, second, "caller")).toBe(0);
    expect([neighbour(model, layout, 0, "caller"), neighbour(model, layout, first, "callee")]).toEqual([null, null]);
  });
});

describe("a view", () => {
  const model = decodeFlame(encodeFlame(partsOf(randomTree(5_000, 3))));
  const layout = layOut(model, { order: "size" });
  const frame = { width: 1_400, height: 600, rowHeight: 20 };
  test("stays inside the picture", () => {
    expect(clamp({ x0: -4, x1: 9, top: 1e9 }, layout, frame)).toMatchObject({ x0: 0, x1: 1 });
    expect(clamp({ x0: 0.75, x1: 1.25, top: -5 }, layout, frame)).toEqual({ x0: 0.5, x1: 1, top: 0 });
    expect(zoomAt(WHOLE, layout, frame, 0.3, 1e-30).x1).toBeGreaterThan(0.3);
  });
  test("zooms at a point that stays where it is", () => {
    const zoomed = zoomAt(WHOLE, layout, frame, 0.25, 0.1);
    expect(zoomed.x0 + (zoomed.x1 - zoomed.x0) * 0.25).toBeCloseTo(0.25);
    expect(sameView(zoomAt(zoomed, layout, frame, 0.25, 1e9), WHOLE)).toBe(true);
  });
  test("of a focus is the box over the whole width", () => {
    const node = layout.node[layout.rowStart[3] as number] as number;
    const view = focusOn(model, layout, frame, node);
    const at = layout.position[node] as number;
    expect(view.x0 * layout.span).toBeCloseTo(layout.left[at] as number);
    expect((view.x1 - view.x0) * layout.span).toBeCloseTo(layout.width[at] as number);
  });
  test("that reveals a node moves as little as it can", () => {
    const wide = layout.node[1] as number;
    expect(reveal(model, layout, frame, WHOLE, wide, 24)).toEqual(WHOLE);
    const narrow = layout.node[layout.node.length - 1] as number;
    const view = reveal(model, layout, frame, WHOLE, narrow, 24);
    const at = layout.position[narrow] as number;
    const pixels = ((layout.width[at] as number) / layout.span / (view.x1 - view.x0)) * frame.width;
    expect(pixels).toBeGreaterThan(20);
    const rowBottom = ((model.depth[narrow] as number) + 1) * 20;
    expect(rowBottom).toBeLessThanOrEqual(view.top + frame.height);
  });
  test("between two others begins and ends there", () => {
    const to = { x0: 0.4, x1: 0.41, top: 80 };
    expect(sameView(between(WHOLE, to, 0), WHOLE)).toBe(true);
    const end = between(WHOLE, to, 1);
    expect([end.x0, end.x1, end.top].map((one) => one.toFixed(9))).toEqual([
      "0.400000000",
      "0.410000000",
      "80.000000000",
    ]);
  });
});

describe("for a screen reader", () => {
  const many: Given[] = Array.from({ length: 300 }, (_, at) => [`f${at}`, 300 - at] as const);
  const model = modelFrom(["", 0, ["main|app|src/main.go", 5, ...many]]);
  const layout = layOut(model, { order: "size" });
  test("the tree is small, and says level, place and share", () => {
    const node = 150;
    const items = treeItems(model, layout, node, text);
    expect(items.length).toBeLessThanOrEqual(ITEMS_MAX);
    expect(items[0]).toMatchObject({
      node: 0,
      level: 1,
      place: 1,
      siblings: 1,
      label: "total, total 45155 ns (100.0 % of all)",
    });
    expect(items.find((item) => item.node === node)).toMatchObject({ level: 3, place: 149, siblings: 300 });
  });
  test("the tree stays small at any depth", () => {
    let deep: Given = ["leaf", 1];
    for (let at = 0; at < 500; at++) deep = [`f${at}`, 1, deep];
    const tower = modelFrom(["", 0, deep]);
    const items = treeItems(tower, layOut(tower, { order: "size" }), tower.size - 1, text);
    expect(items.length).toBeLessThanOrEqual(ITEMS_MAX);
    expect(items[0]?.node).toBe(0);
    expect(items.at(-1)).toMatchObject({ node: tower.size - 1, level: 502, hasChildren: false });
  });
  test("details name value, shares and place, in both languages", () => {
    expect(detailTexts(model, 1, 0, "share", text)).toEqual([
      "self 5 ns (0.0 %)",
      "total 45155 ns (100.0 % of all)",
      "100.0 % of caller",
      "src/main.go:7",
    ]);
    expect(detailTexts(model, 2, 1, "share", flameZh(numbers))[2]).toBe("占调用方 0.7 %");
    const diff = modelFrom(["", [0, 0], ["a", [10, 30]], ["b", [10, 10]]]);
    expect(detailTexts(diff, 1, 0, "share", text).slice(0, 2)).toEqual([
      "before 10 ns (50.0 %) → selected 30 ns (75.0 %)",
      "×1.5 by share",
    ]);
  });
  test("a stack is copied as text, names as they are shown", () => {
    const odd = modelFrom(["", 0, ["a\nb", 1, ["", 1, ["c", 1]]]]);
    expect(stackText(odd, 3, text)).toBe("a^Jb\n(no name)\nc");
    expect(nameText(odd, 0, text)).toBe("total");
  });
});
