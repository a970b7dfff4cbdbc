// Decoding: golden files shared with the server's writer, round trips, and everything damaged that is refused.

import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { partsOf, randomFrom, randomTree } from "../../bench/tree.ts";
import { modelFrom, partsFrom } from "./fixtures.ts";
import { decodeFlame, FlameFormatError, nameOf, packageOf, pathTo } from "./model.ts";
import { encodeFlame, framed, HEADER_BYTES, SECTION } from "./wire.ts";

const GOLDEN = new URL("../../../crates/api/tests/golden/flame-v1/", import.meta.url).pathname;

interface Dump {
  readonly flags: number;
  readonly frames: readonly {
    name: string;
    package: string;
    file: string;
    line: number;
    kind: number;
    flags: number;
  }[];
  readonly meta: { readonly totals: readonly string[]; readonly unit: string; readonly sample_type: string };
  readonly nodes: readonly { depth: number; frame: number; self: readonly string[]; total: readonly string[] }[];
  readonly rest: readonly { count: number; parent: number; total: readonly string[] }[];
}

function bytesOf(path: string): ArrayBuffer {
  const bytes = readFileSync(path);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
}

describe("golden files of the server", () => {
  const names = readdirSync(GOLDEN).filter((name) => name.endsWith(".bin"));
  test("are there", () => {
    expect(names.length).toBeGreaterThanOrEqual(6);
  });
  test.each(names)("%s is read as its dump says", (name) => {
    const model = decodeFlame(bytesOf(GOLDEN + name));
    const dump = JSON.parse(readFileSync(GOLDEN + name.replace(/bin$/, "json"), "utf8")) as Dump;
    expect(model.sides).toBe(dump.flags & 1 ? 2 : 1);
    expect(model.pruned).toBe((dump.flags & 2) !== 0);
    expect(model.meta.totals.map(String)).toEqual(dump.meta.totals);
    expect(model.meta.unit).toBe(dump.meta.unit);
    // Boxes of what was left out come on top; without them the nodes are those of the dump, in their order.
    const own = Array.from({ length: model.size }, (_, node) => node).filter((node) => !model.rest.has(node));
    const seen = own.map((node) => {
      const frame = model.frame[node] as number;
      return {
        depth: model.depth[node],
        frame,
        self: model.self.map((column) => String(column.exact[node])),
        total: model.total.map((column) => String(column.exact[node])),
        name: nameOf(model, node),
        package: packageOf(model, node),
        kind: model.frames.kind[frame],
        flags: model.frames.flags[frame],
      };
    });
    const wanted = dump.nodes.map((node) => {
      const frame = dump.frames[node.frame];
      return { ...node, name: frame?.name, package: frame?.package, kind: frame?.kind, flags: frame?.flags };
    });
    expect(seen).toEqual(wanted);
    const rest = [...model.rest].map(([node, count]) => ({
      count,
      parent: own.indexOf(model.parent[node] as number),
      total: model.total.map((column) => String(column.exact[node])),
    }));
    const byParent = (left: { parent: number }, right: { parent: number }) => left.parent - right.parent;
    expect(rest.sort(byParent)).toEqual([...dump.rest].sort(byParent));
  });
});

describe("a reply", () => {
  test("gives every node its parent and its end", () => {
    const model = modelFrom(["", 1, ["a", 2, ["b", 3], ["c", 4]], ["d", 5]]);
    expect(Array.from(model.parent)).toEqual([0, 0, 1, 1, 0]);
    expect(Array.from(model.end)).toEqual([5, 4, 3, 4, 5]);
    expect(pathTo(model, 3).map((node) => nameOf(model, node))).toEqual(["", "a", "c"]);
    expect(model.depthMax).toBe(2);
  });

  test("keeps names of all scripts whole", () => {
    const names = ["处理请求", "שלום::עולם", "🔥🔥 fire", "e\u0301", "plain", "<b>&amp;", "x".repeat(10_240)];
    const model = modelFrom(["", 0, ...names.map((name) => [name, 1] as const)]);
    expect(names.map((_, index) => nameOf(model, index + 1))).toEqual(names);
  });

  test("puts what was left out below its parent, as boxes that count for nothing else", () => {
    const parts = partsFrom(["", 0, ["a", 1, ["b", 10]], ["c", 5]]);
    const rest = { parent: [0, 1, 2], count: [7, 1, 2], total: [[3n, 2n, 4n]] };
    const model = decodeFlame(encodeFlame({ ...parts, rest }));
    expect(model.pruned).toBe(true);
    expect([...model.rest]).toEqual([
      [3, 2],
      [4, 1],
      [6, 7],
    ]);
    expect(Array.from(model.depth)).toEqual([0, 1, 2, 3, 2, 1, 1]);
    expect(nameOf(model, 5)).toBe("c");
    expect(model.self[0]?.exact[6]).toBe(3n);
  });

  test("survives a tree as deep as the format allows", () => {
    const size = 65_536;
    const parts = partsFrom(["", 1, ["a", 1]]);
    const ones = new BigInt64Array(size).fill(1n);
    const depth = Uint16Array.from({ length: size }, (_, node) => node);
    const model = decodeFlame(
      encodeFlame({ ...parts, depth, frame: new Uint32Array(size), total: [ones], self: [ones] }),
    );
    expect(model.depthMax).toBe(65_535);
    expect(pathTo(model, size - 1)).toHaveLength(size);
  });
});

describe("a damaged reply is refused", () => {
  const parts = partsFrom(["", 1, ["a|p|f", 2, ["b", 3]], ["c", 4]]);
  const whole = encodeFlame(parts);
  const changed = (change: (view: DataView) => void, of = whole) => {
    const copy = of.slice(0);
    change(new DataView(copy));
    return copy;
  };

  test("cut at every length", () => {
    for (let length = 0; length < whole.byteLength; length++) {
      expect(() => decodeFlame(whole.slice(0, length)), `cut at ${length}`).toThrow(FlameFormatError);
    }
  });

  test.each([
    ["magic", (view: DataView) => view.setUint8(0, 0x45 + 1)],
    ["version", (view: DataView) => view.setUint16(4, 2, true)],
    ["number of sections", (view: DataView) => view.setUint32(8, 0xffff_ffff, true)],
    ["length", (view: DataView) => view.setUint32(12, 8, true)],
    ["offset behind the end", (view: DataView) => view.setUint32(HEADER_BYTES + 4, 0xffff_fff8, true)],
    ["crooked offset", (view: DataView) => view.setUint32(HEADER_BYTES + 4, 217, true)],
    ["offset into the header", (view: DataView) => view.setUint32(HEADER_BYTES + 4, 8, true)],
    ["length of a section", (view: DataView) => view.setUint32(HEADER_BYTES + 8, 0xffff_ffff, true)],
    ["a section twice", (view: DataView) => view.setUint32(HEADER_BYTES, SECTION.depth, true)],
    ["no meta", (view: DataView) => view.setUint32(HEADER_BYTES, 99, true)],
  ])("%s", (_, change) => {
    expect(() => decodeFlame(changed(change))).toThrow(FlameFormatError);
  });

  test.each([
    ["a step down by two", { depth: [0, 1, 3, 1] }],
    ["a second root", { depth: [0, 1, 0, 1] }],
    ["a root that is none", { depth: [1, 1, 2, 1] }],
    ["an unknown frame", { frame: [0, 1, 2, 9] }],
    ["no nodes", { depth: [], frame: [], total: [[]], self: [[]] }],
    ["columns of different lengths", { frame: [0, 1, 2] }],
    ["one side where two are said", { flags: 1 }],
    ["totals of another number of sides", { meta: { totals: ["1", "2"] } }],
    ["totals that are no numbers", { meta: { totals: ["1e9"] } }],
    ["a first string that is not empty", { strings: ["x", "a", "p", "f", "b", "c"] }],
    ["a string that is not there", { strings: ["", "a", "p"] }],
    ["a rest of no node", { rest: { parent: [9], count: [1], total: [[1n]] } }],
    ["two rests of a node", { rest: { parent: [1, 1], count: [1, 1], total: [[1n, 1n]] } }],
  ])("%s", (_, change) => {
    expect(() => decodeFlame(encodeFlame({ ...parts, ...change }))).toThrow(FlameFormatError);
  });

  test("strings that are not UTF-8, or cut inside a character", () => {
    const bytes = new TextEncoder().encode("é");
    const sections = (lengths: number[], content: Uint8Array) =>
      framed(0, [
        [SECTION.meta, new TextEncoder().encode('{"totals":["0"]}')],
        [SECTION.stringLengths, new Uint8Array(Uint32Array.from(lengths).buffer)],
        [SECTION.stringBytes, content],
        ...[4, 5, 6, 7].map((kind) => [kind, new Uint8Array(4)] as const),
        [SECTION.frameKind, new Uint8Array(1)],
        [SECTION.frameFlags, new Uint8Array(1)],
        [SECTION.depth, new Uint8Array(2)],
        [SECTION.frame, new Uint8Array(4)],
        [SECTION.total, new Uint8Array(8)],
        [SECTION.self, new Uint8Array(8)],
      ]);
    expect(decodeFlame(sections([0, 2], bytes)).strings).toEqual(["", "é"]);
    expect(() => decodeFlame(sections([0, 1, 1], bytes))).toThrow(FlameFormatError);
    expect(() => decodeFlame(sections([0, 1], bytes))).toThrow(FlameFormatError);
    expect(() => decodeFlame(sections([0, 3], bytes))).toThrow(FlameFormatError);
    expect(() => decodeFlame(sections([0, 2], Uint8Array.of(0xff, 0xfe)))).toThrow(FlameFormatError);
  });

  test("any byte changed is read or refused, and never breaks a walk", () => {
    const reply = encodeFlame(partsOf(randomTree(60, 3)));
    const random = randomFrom(7);
    let refused = 0;
    let bent = 0;
    for (let round = 0; round < 4_000; round++) {
      const copy = reply.slice(0);
      new Uint8Array(copy)[Math.floor(random() * copy.byteLength)] = Math.floor(random() * 256);
      try {
        const model = decodeFlame(copy);
        for (let node = 1; node < model.size; node++) {
          const parent = model.parent[node] as number;
          if (parent >= node || (model.end[node] as number) > (model.end[parent] as number)) bent++;
        }
      } catch (error) {
        if (!(error instanceof FlameFormatError)) throw error;
        refused++;
      }
    }
    expect(bent).toBe(0);
    expect(refused).toBeGreaterThan(400);
  });
});
