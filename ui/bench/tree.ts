// Made-up call trees for tests and the bench: random walks over a call graph with names as long as real ones (Rust,
// C++, Go, Java, kernel), depth to about 120, values with a heavy tail. The same seed gives the same tree everywhere.

import type { FlameParts } from "../src/flame/wire.ts";

/** A small generator of numbers in [0, 1); the same on every machine. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface Tree {
  readonly names: readonly string[];
  readonly packages: readonly string[];
  /** Parent, name and own value per node; node 0 is the root and parents come first. */
  readonly parent: Uint32Array;
  readonly name: Uint32Array;
  readonly self: Float64Array;
}

const DEPTH_MAX = 119;

/** A tree with this many nodes. */
export function randomTree(size: number, seed = 1): Tree {
  const random = randomFrom(seed);
  const { names, packages } = functions(Math.max(40, Math.round(2.2 * size ** 0.71)), random);
  const callees = names.map(() => Array.from({ length: 1 + Math.floor(random() * 9) }, () => ranked(random, names)));
  const parent = new Uint32Array(size);
  const name = new Uint32Array(size);
  const self = new Float64Array(size);
  const known = new Map<number, number>();
  const entries = [1, 2, 3, 4, 5, 6];
  let used = 1;
  while (used < size) {
    let node = 0;
    let next = entries[Math.floor(random() ** 2 * entries.length)] as number;
    const length = 4 + Math.floor(-Math.log(1 - random()) * 18);
    for (let depth = 1; depth <= Math.min(length, DEPTH_MAX) && used < size; depth++) {
      const key = node * names.length + next;
      let child = known.get(key);
      if (child === undefined) {
        child = used++;
        known.set(key, child);
        parent[child] = node;
        name[child] = next;
      }
      node = child;
      const choice = callees[next] as number[];
      next = choice[Math.floor(random() ** 1.7 * choice.length)] as number;
    }
    self[node] = (self[node] as number) + Math.ceil(10_000 / (random() + 0.0005) ** 0.9);
  }
  return { names, packages, parent, name, self };
}

/** Few functions are called much, most are called rarely. */
function ranked(random: () => number, names: readonly string[]): number {
  return 1 + Math.floor(random() ** 2.2 * (names.length - 1));
}

function functions(count: number, random: () => number): { names: string[]; packages: string[] } {
  const words =
    "decode parse route visit encode flush merge scan commit fetch dispatch handle render resolve token buffer frame stream index cursor batch shard queue worker client server context value record segment block cache lock timer".split(
      " ",
    );
  const word = () => words[Math.floor(random() * words.length)] as string;
  const upper = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
  const names = [""];
  const packages = [""];
  const seen = new Set(names);
  while (names.length < count) {
    const [one, two, three] = [word(), word(), word()];
    const number = Math.floor(random() * count);
    const kinds: readonly (readonly [string, string])[] = [
      [`${one}_core::${two}::${upper(three)}<alloc::vec::Vec<${upper(one)}>>::${two}_${number}`, `${one}_core`],
      [
        `github.com/acme/${one}/internal/${two}.(*${upper(three)}).${upper(one)}${number}`,
        `github.com/acme/${one}/internal/${two}`,
      ],
      [`com.acme.${one}.${two}.${upper(three)}Service.${one}${upper(two)}${number}`, `com.acme.${one}.${two}`],
      [`std::__1::${one}<${two}_t, std::__1::allocator<${three}>>::${two}(${three} const&, int)#${number}`, "std"],
      [`__${one}_${two}_${number}`, "kernel"],
    ];
    const [name, home] = kinds[Math.floor(random() * kinds.length)] as readonly [string, string];
    if (seen.has(name)) continue;
    seen.add(name);
    names.push(name);
    packages.push(home);
  }
  return { names, packages };
}

/** A tree as the parts of a reply: totals summed, siblings widest first, depth first. */
export function partsOf(tree: Tree, meta: Readonly<Record<string, unknown>> = {}): FlameParts {
  const size = tree.parent.length;
  const total = tree.self.slice();
  const children: number[][] = Array.from({ length: size }, () => []);
  for (let node = size - 1; node > 0; node--) {
    const parent = tree.parent[node] as number;
    total[parent] = (total[parent] as number) + (total[node] as number);
    children[parent]?.push(node);
  }
  const depth = new Uint16Array(size);
  const frame = new Uint32Array(size);
  const totals = new BigInt64Array(size);
  const selfs = new BigInt64Array(size);
  const open: [number, number][] = [[0, 0]];
  for (let at = 0; open.length > 0; at++) {
    const [node, level] = open.pop() as [number, number];
    depth[at] = level;
    frame[at] = tree.name[node] as number;
    totals[at] = BigInt(total[node] as number);
    selfs[at] = BigInt(tree.self[node] as number);
    const below = children[node] as number[];
    below.sort((left, right) => (total[left] as number) - (total[right] as number) || right - left);
    for (const child of below) open.push([child, level + 1]);
  }
  const strings = [...tree.names];
  const ids = new Map(strings.map((text, id) => [text, id]));
  const idOf = (text: string) => {
    let id = ids.get(text);
    if (id === undefined) {
      id = strings.push(text) - 1;
      ids.set(text, id);
    }
    return id;
  };
  const frames = tree.names.map((_, at) => ({
    name: at,
    package: idOf(tree.packages[at] ?? ""),
    file: at === 0 ? 0 : idOf(`src/${(tree.packages[at] ?? "").replace(/[^a-z]+/g, "/")}.rs`),
    line: at === 0 ? 0 : 10 + (at % 900),
    kind: tree.packages[at] === "kernel" ? 1 : 0,
    flags: 0,
  }));
  return {
    meta: { unit: "nanoseconds", sample_type: "cpu", totals: [String(totals[0])], ...meta },
    strings,
    frames,
    depth,
    frame,
    total: [totals],
    self: [selfs],
  };
}

/** The same tree as folded stacks with short names, as a server takes them; values in samples. */
export function foldedOf(tree: Tree): string {
  const paths: string[] = [""];
  const lines: string[] = [];
  for (let node = 1; node < tree.parent.length; node++) {
    const above = paths[tree.parent[node] as number] as string;
    const name = `p${(tree.name[node] as number) % 97}::f${tree.name[node]}`;
    paths[node] = above === "" ? name : `${above};${name}`;
    const samples = Math.round((tree.self[node] as number) / 10_000);
    if (samples > 0) lines.push(`${paths[node]} ${samples}`);
  }
  return lines.join("\n");
}
