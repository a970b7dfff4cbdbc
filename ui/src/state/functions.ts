// Rows of the function table, from a whole tree in the page or, where the server cut it, from the server's own tables;
// filtered by the search and sorted. Of a comparison each row has two sides: before, now.

import type { Top, Whole } from "../data/types.ts";
import {
  type Change,
  compareValues,
  type DiffMode,
  type FlameModel,
  type Query,
  testText,
  topTable,
} from "../flame/index.ts";

export interface FunctionEntry {
  readonly key: string;
  readonly name: string;
  readonly file: string;
  readonly package: string;
  /** A frame of it in the picture; −1 = it is not there. */
  readonly frame: number;
  readonly self: readonly bigint[];
  readonly total: readonly bigint[];
}

function packageOf(model: FlameModel, frame: number): string {
  return model.strings[model.frames.package[frame] ?? 0] ?? "";
}

export function entriesOf(model: FlameModel): FunctionEntry[] {
  return topTable(model).map((row) => ({
    ...row,
    key: String(row.frame),
    package: packageOf(model, row.frame),
  }));
}

const exact = (value: Whole) => BigInt(value);

/** From one or two tables of the server; a function that only one side has is zero on the other. */
export function entriesFrom(sides: readonly Top[], model: FlameModel): FunctionEntry[] {
  const frames = new Map<string, number>();
  for (let frame = model.frames.size - 1; frame >= 0; frame -= 1) {
    frames.set(model.strings[model.frames.name[frame] ?? 0] ?? "", frame);
  }
  const found = new Map<string, { name: string; file: string; self: bigint[]; total: bigint[] }>();
  sides.forEach((side, at) => {
    for (const row of side.rows) {
      const key = `${row.name}\0${row.file}`;
      const entry = found.get(key) ?? {
        name: row.name,
        file: row.file,
        self: sides.map(() => 0n),
        total: sides.map(() => 0n),
      };
      entry.self[at] = exact(row.self);
      entry.total[at] = exact(row.total);
      found.set(key, entry);
    }
  });
  return [...found].map(([key, entry]) => {
    const frame = frames.get(entry.name) ?? -1;
    return { ...entry, key, frame, package: frame < 0 ? "" : packageOf(model, frame) };
  });
}

export function matching(entries: readonly FunctionEntry[], query: Query | null): readonly FunctionEntry[] {
  return query ? entries.filter((entry) => testText(query, entry[query.field])) : entries;
}

export type SortColumn = "name" | "self" | "total" | "before" | "now" | "change";

export type Part = "self" | "total";

/** How a row changed: by its own value, or with everything that it called. */
export function changeOfEntry(
  entry: FunctionEntry,
  part: Part,
  totals: readonly [bigint, bigint],
  mode: DiffMode,
): Change {
  return compareValues(entry[part][0] ?? 0n, entry[part][1] ?? 0n, totals, mode);
}

/** By how much a row changed, for sorting and for what is shown: in the unit, or as a share. */
export function differenceOf(change: Change, mode: DiffMode): number {
  return mode === "share" ? change.rightShare - change.leftShare : Number(change.right - change.left);
}

export function sorted(
  entries: readonly FunctionEntry[],
  column: SortColumn,
  descending: boolean,
  part: Part,
  totals: readonly [bigint, bigint],
  mode: DiffMode,
): FunctionEntry[] {
  const last = (values: readonly bigint[]) => values[values.length - 1] ?? 0n;
  const measure: Record<SortColumn, (entry: FunctionEntry) => bigint | number> = {
    name: () => 0,
    self: (entry) => last(entry.self),
    total: (entry) => last(entry.total),
    before: (entry) => changeOfEntry(entry, part, totals, mode).left,
    now: (entry) => changeOfEntry(entry, part, totals, mode).right,
    change: (entry) => Math.abs(differenceOf(changeOfEntry(entry, part, totals, mode), mode)),
  };
  const turn = descending ? -1 : 1;
  const keyed = entries.map((entry) => ({ entry, by: measure[column](entry), total: last(entry.total) }));
  keyed.sort((a, b) => {
    if (a.by !== b.by) return a.by < b.by ? -turn : turn;
    if (column === "name") return a.entry.name < b.entry.name ? -turn : turn;
    if (a.total !== b.total) return a.total < b.total ? -turn : turn;
    return a.entry.name < b.entry.name ? -1 : 1;
  });
  return keyed.map(({ entry }) => entry);
}
