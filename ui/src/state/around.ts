// One function, who calls it and what it calls, with values per side: from a whole tree in the page, or from the server's
// answers where the tree was cut. Pure.

import type { Callers } from "../data/types.ts";
import type { Sandwich } from "../flame/index.ts";

/** One function, its neighbours and their values, per side: from either source. */
export interface Around {
  readonly name: string;
  readonly file: string;
  readonly self: readonly bigint[];
  readonly total: readonly bigint[];
  readonly callers: readonly Neighbour[];
  readonly callees: readonly Neighbour[];
}

export interface Neighbour {
  readonly name: string;
  readonly file: string;
  readonly value: readonly bigint[];
}

export function aroundOf(sandwich: Sandwich): Around {
  const { row, callers, callees } = sandwich;
  return { name: row.name, file: row.file, self: row.self, total: row.total, callers, callees };
}

/** From the server's answers, one per side; a neighbour that only one side has is zero on the other. */
export function aroundFrom(sides: readonly Callers[]): Around {
  const join = (list: "callers" | "callees"): Neighbour[] => {
    const found = new Map<string, { name: string; file: string; value: bigint[] }>();
    sides.forEach((side, at) => {
      for (const one of side[list]) {
        const key = `${one.name}\0${one.file}`;
        const entry = found.get(key) ?? { name: one.name, file: one.file, value: sides.map(() => 0n) };
        entry.value[at] = BigInt(one.value);
        found.set(key, entry);
      }
    });
    const last = (one: Neighbour) => one.value[one.value.length - 1] ?? 0n;
    return [...found.values()].sort((a, b) => (last(a) < last(b) ? 1 : last(a) > last(b) ? -1 : 0));
  };
  const first = sides[0]?.function;
  return {
    name: first?.name ?? "",
    file: first?.file || sides[1]?.function.file || "",
    self: sides.map((side) => BigInt(side.function.self)),
    total: sides.map((side) => BigInt(side.function.total)),
    callers: join("callers"),
    callees: join("callees"),
  };
}
