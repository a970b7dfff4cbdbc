// Layout: children inside their parents and nothing lost, for trees of all shapes, orders and signs.

import { describe, expect, test } from "vitest";
import { partsOf, randomFrom, randomTree } from "../../bench/tree.ts";
import { type Given, modelFrom } from "./fixtures.ts";
import { type FlameLayout, layOut, nextWide } from "./layout.ts";
import { decodeFlame, nameOf } from "./model.ts";
import type { FlameModel } from "./types.ts";
import { encodeFlame } from "./wire.ts";

/** What holds for every layout: each fault in words. */
function faults(model: FlameModel, layout: FlameLayout): string[] {
  const { left, width, children, node, position, rowStart } = layout;
  const seen = new Uint8Array(model.size);
  const rounding = layout.span * 1e-12;
  const found: string[] = [];
  const demand = (holds: boolean, what: string) => {
    if (!holds) found.push(what);
  };
  for (let at = 0; at < model.size; at++) {
    const own = node[at] as number;
    demand(position[own] === at, `${own} does not know its position`);
    seen[own] = 1;
    const row = model.depth[own] as number;
    demand(at >= (rowStart[row] as number) && at < (rowStart[row + 1] as number), `${own} is in another row`);
    let edge = left[at] as number;
    for (let child = children[at] as number; child < (children[at + 1] as number); child++) {
      demand(model.parent[node[child] as number] === own, `${node[child]} stands below ${own}`);
      demand(left[child] === edge, `${node[child]} does not follow its sibling`);
      demand((width[child] as number) >= 0, `${node[child]} is of negative width`);
      edge += width[child] as number;
    }
    demand(edge <= (left[at] as number) + (width[at] as number) + rounding, `children stick out of ${own}`);
  }
  demand(
    seen.every((one) => one === 1),
    "a node is lost",
  );
  return found;
}

function expectSound(model: FlameModel, layout: FlameLayout): void {
  expect(faults(model, layout)).toEqual([]);
}

function randomGiven(random: () => number, depth: number, sides: 1 | 2, signed: boolean): Given {
  const value = () => Math.floor((random() - (signed ? 0.5 : 0)) * 100);
  const count = depth > 5 ? 0 : Math.floor(random() * 5);
  const own = sides === 1 ? value() : ([value(), value()] as const);
  const children = Array.from({ length: count }, () => randomGiven(random, depth + 1, sides, signed));
  return [depth === 0 ? "" : `f${Math.floor(random() * 30)}`, own, ...children];
}

describe("a layout", () => {
  test.each([
    ["one side", 1, false],
    ["one side with negative values", 1, true],
    ["a comparison", 2, false],
    ["a comparison with negative values", 2, true],
  ] as const)("keeps children inside their parents and loses no node: %s", (_, sides, signed) => {
    const random = randomFrom(11);
    for (let round = 0; round < 40; round++) {
      const model = modelFrom(randomGiven(random, 0, sides, signed));
      for (const order of ["size", "name"] as const) {
        for (const diffMode of ["share", "absolute"] as const) expectSound(model, layOut(model, { order, diffMode }));
      }
    }
  });

  test("has the totals as widths", () => {
    const model = decodeFlame(encodeFlame(partsOf(randomTree(3_000, 5))));
    const layout = layOut(model, { order: "size" });
    expectSound(model, layout);
    const totals = Array.from(layout.node, (node) => Number(model.total[0]?.exact[node]));
    expect(Array.from(layout.width)).toEqual(totals);
    expect(layout.span).toBe(Number(model.meta.totals[0]));
  });

  test("puts the widest first, or goes by name", () => {
    const model = modelFrom(["", 0, ["b", 1], ["c", 9], ["a", 5, ["z", 1], ["y", 1]]]);
    const names = (order: "size" | "name") => {
      const layout = layOut(model, { order });
      return Array.from(layout.node, (node) => nameOf(model, node)).join(" ");
    };
    expect(names("size")).toBe(" c a b z y");
    expect(names("name")).toBe(" a b c y z");
  });

  test("lays both sides over each other, as shares or as they are", () => {
    const model = modelFrom(["", [0, 0], ["gone", [10, 0]], ["new", [0, 1_000]]]);
    const shares = layOut(model, { order: "size", diffMode: "share" });
    expect(shares.width[1]).toBeCloseTo(1);
    expect(shares.width[2]).toBeCloseTo(1);
    const absolute = layOut(model, { order: "size", diffMode: "absolute" });
    expect(Array.from(absolute.width)).toEqual([1_010, 1_000, 10]);
  });

  test("c028_negative_values_have_boxes_inside_their_parents", () => {
    const layout = layOut(modelFrom(["", 0, ["less", -3], ["more", 10, ["inner", -4]]]), { order: "size" });
    expect(Array.from(layout.width)).toEqual([17, 14, 3, 4]);
  });

  test("finds the next wide box without looking at all", () => {
    const random = randomFrom(3);
    const children = Array.from({ length: 5_000 }, () => ["f", Math.ceil(1 / (random() + 1e-4))] as const);
    const layout = layOut(modelFrom(["", 0, ...children]), { order: "name" });
    const counted = { visited: 0 };
    const found: number[] = [];
    for (let at = 1; at < 5_001; at++) {
      at = nextWide(layout, at, 5_001, 500, counted);
      if (at < 5_001) found.push(at);
    }
    const wanted = Array.from(layout.width.keys()).filter((at) => at > 0 && (layout.width[at] as number) >= 500);
    expect(found).toEqual(wanted);
    expect(counted.visited).toBeLessThan(40 * wanted.length);
  });
});
