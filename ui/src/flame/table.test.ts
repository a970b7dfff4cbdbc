// Tables: recursion counts once, sums are exact, and the order is the server's.

import { describe, expect, test } from "vitest";
import { partsOf, randomTree } from "../../bench/tree.ts";
import { modelFrom, partsFrom } from "./fixtures.ts";
import { decodeFlame, nameOf, pathTo } from "./model.ts";
import { ascending, canCount, sandwich, topTable } from "./table.ts";
import type { FlameModel } from "./types.ts";
import { encodeFlame } from "./wire.ts";

const recursive = modelFrom(["", 1, ["main", 2, ["f", 3, ["g", 5, ["f", 7, ["f", 11]]], ["h", 13]]], ["f", 17]]);

/** The same numbers by looking at every stack. */
function byStacks(model: FlameModel): Map<string, { self: bigint; total: bigint }> {
  const rows = new Map<string, { self: bigint; total: bigint }>();
  for (let node = 0; node < model.size; node++) {
    const value = model.self[0]?.exact[node] ?? 0n;
    const names = pathTo(model, node)
      .slice(1)
      .map((one) => nameOf(model, one));
    for (const name of new Set(names)) {
      const row = rows.get(name) ?? { self: 0n, total: 0n };
      row.total += value;
      if (name === names.at(-1)) row.self += value;
      rows.set(name, row);
    }
  }
  return rows;
}

describe("the table of functions", () => {
  test("counts a stack once, however often a function is on it", () => {
    const rows = topTable(recursive).map(({ name, self, total }) => [name, self[0], total[0]]);
    expect(rows).toEqual([
      ["f", 38n, 56n],
      ["h", 13n, 13n],
      ["g", 5n, 23n],
      ["main", 2n, 41n],
    ]);
  });

  test("agrees with counting every stack", () => {
    const model = decodeFlame(encodeFlame(partsOf(randomTree(4_000, 2))));
    const rows = topTable(model);
    const wanted = byStacks(model);
    expect(rows.length).toBe(wanted.size);
    for (const row of rows) expect({ self: row.self[0], total: row.total[0] }).toEqual(wanted.get(row.name));
    for (let at = 1; at < rows.length; at++) {
      expect(rows[at - 1]?.self[0]).toBeGreaterThanOrEqual(rows[at]?.self[0] ?? 0n);
    }
  });

  test("is exact where doubles are not, with either sign", () => {
    const big = 4_611_686_018_427_387_903n;
    const rows = topTable(modelFrom(["", 0, ["a", big], ["a", big], ["b", -big], ["b", -1], ["c", 2n ** 53n + 1n]]));
    expect(rows.map(({ name, self }) => [name, self[0]])).toEqual([
      ["a", 2n * big],
      ["c", 2n ** 53n + 1n],
      ["b", -big - 1n],
    ]);
  });

  test("has both sides of a comparison, largest on the right first", () => {
    const rows = topTable(modelFrom(["", [0, 0], ["a", [9, 1]], ["b", [1, 9]], ["none", [0, 0]]]));
    expect(rows.map(({ name, self }) => [name, ...self])).toEqual([
      ["b", 1n, 9n],
      ["a", 9n, 1n],
    ]);
  });

  test("is not counted from a reply that was cut", () => {
    const cut = { ...partsFrom(["", 0, ["a", 1]]), rest: { parent: [0], count: [3], total: [[4n]] } };
    expect(canCount(decodeFlame(encodeFlame(cut)))).toBe(false);
    expect(canCount(recursive)).toBe(true);
  });
});

describe("callers and callees", () => {
  const list = (sides: readonly { name: string; value: readonly bigint[] }[]) =>
    sides.map(({ name, value }) => [name, value[0]]);

  test("are counted once per stack, and calls to itself are neither", () => {
    const { row, callers, callees } = sandwich(recursive, "f");
    expect([row.self[0], row.total[0]]).toEqual([38n, 56n]);
    expect(list(callers)).toEqual([
      ["main", 39n],
      ["g", 18n],
      ["", 17n],
    ]);
    expect(list(callees)).toEqual([
      ["g", 23n],
      ["h", 13n],
    ]);
  });

  test("of a function that is not there are none", () => {
    const { row, callers, callees } = sandwich(recursive, "nobody");
    expect([row.self, row.total, callers, callees]).toEqual([[0n], [0n], [], []]);
  });

  test("of every function carry its whole total, where nothing is recursive", () => {
    const model = modelFrom(["", 0, ["a", 1, ["b", 2, ["c", 3]]], ["b", 4, ["c", 5]], ["c", 6]]);
    for (const { name, total, self } of topTable(model)) {
      const { callers, callees } = sandwich(model, name);
      expect(callers.reduce((sum, one) => sum + (one.value[0] ?? 0n), 0n)).toBe(total[0]);
      expect(callees.reduce((sum, one) => sum + (one.value[0] ?? 0n), self[0] ?? 0n)).toBe(total[0]);
    }
  });
});

test("names are ordered as their bytes are", () => {
  const names = ["", "a", "ab", "b", "é", "￿", "𐀀", "😀", "Z"];
  const encoder = new TextEncoder();
  const bytes = (text: string) => Array.from(encoder.encode(text), (byte) => String.fromCharCode(byte)).join("");
  const wanted = [...names].sort((left, right) => (bytes(left) < bytes(right) ? -1 : 1));
  expect([...names].sort(ascending)).toEqual(wanted);
});
