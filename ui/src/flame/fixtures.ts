// Small trees for tests, written as nested lists.

import { decodeFlame } from "./model.ts";
import type { FlameModel } from "./types.ts";
import { encodeFlame, type FlameParts } from "./wire.ts";

/** A node: name, own value (or left and right), children. A name may carry package and file: `name|package|file`. */
export type Given = readonly [string, number | bigint | readonly [number, number], ...Given[]];

/** The parts of a reply, nodes in the order that is given; the first node is the root. */
export function partsFrom(root: Given): FlameParts {
  const strings = [""];
  const ids = new Map([["", 0]]);
  const idOf = (text: string) => {
    const id = ids.get(text) ?? strings.push(text) - 1;
    ids.set(text, id);
    return id;
  };
  const frames = new Map<string, number>();
  const rows: { name: number; package: number; file: number; line: number }[] = [];
  const depth: number[] = [];
  const frame: number[] = [];
  const sides = Array.isArray(firstValue(root)) ? 2 : 1;
  const total: bigint[][] = Array.from({ length: sides }, () => []);
  const self: bigint[][] = Array.from({ length: sides }, () => []);
  const add = ([text, value, ...children]: Given, level: number): bigint[] => {
    const at = depth.push(level) - 1;
    let known = frames.get(text);
    if (known === undefined) {
      const [name = "", home = "", file = ""] = text.split("|");
      known = rows.push({ name: idOf(name), package: idOf(home), file: idOf(file), line: 7 }) - 1;
      frames.set(text, known);
    }
    frame.push(known);
    const own = (typeof value === "object" ? [...value] : Array.from({ length: sides }, () => value)).map(BigInt);
    own.forEach((one, side) => {
      (self[side] as bigint[])[at] = one;
      (total[side] as bigint[])[at] = 0n;
    });
    const sums = [...own];
    for (const child of children) {
      add(child, level + 1).forEach((one, side) => {
        sums[side] = (sums[side] ?? 0n) + one;
      });
    }
    sums.forEach((one, side) => {
      (total[side] as bigint[])[at] = one;
    });
    return sums;
  };
  const totals = add(root, 0);
  return {
    meta: { unit: "nanoseconds", sample_type: "cpu", totals: totals.map(String), stats: { samples: 3 } },
    strings,
    frames: rows,
    depth,
    frame,
    total,
    self,
  };
}

function firstValue(node: Given): Given[1] {
  return node[1];
}

export function modelFrom(root: Given): FlameModel {
  return decodeFlame(encodeFlame(partsFrom(root)));
}

/** One stack of so many boxes, all as wide as the root. */
export function tower(height: number): FlameModel {
  const parts = partsFrom(["", 0, ["f", 0]]);
  const size = height + 1;
  const self = new BigInt64Array(size);
  self[height] = 1n;
  return decodeFlame(
    encodeFlame({
      ...parts,
      meta: { ...parts.meta, totals: ["1"] },
      depth: Uint16Array.from({ length: size }, (_, node) => node),
      frame: Uint32Array.from({ length: size }, (_, node) => Math.min(1, node)),
      total: [new BigInt64Array(size).fill(1n)],
      self: [self],
    }),
  );
}
