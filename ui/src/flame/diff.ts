// A comparison of two sides, one number model for graph, table, details line and screen reader: shares of each side's
// own total (or values as they are), how far apart they are, and the word for it. Nothing is subtracted from a picture.

import { numberAt, shareOf } from "./column.ts";
import type { DiffMode, FlameModel } from "./types.ts";

export type ChangeWord = "same" | "new" | "gone" | "more" | "less";

export interface Change {
  readonly left: bigint;
  readonly right: bigint;
  readonly leftShare: number;
  readonly rightShare: number;
  /** −1 = all gone, 0 = the same, 1 = all new. */
  readonly change: number;
  readonly word: ChangeWord;
  /** Now in units of before: 2 = twice as much, 0.5 = half; 1 for new and gone. */
  readonly times: number;
}

/** Closer than this is the same. */
const SAME_BELOW = 0.01;
/** What is smaller than this on both sides is painted towards grey: one sample more or less is no news. */
export const FLOOR_SHARE = 0.001;

/** Compares two values of two totals. */
export function compareValues(
  left: bigint,
  right: bigint,
  totals: readonly [bigint, bigint],
  mode: DiffMode,
): Change {
  const leftShare = shareOf(left, totals[0]);
  const rightShare = shareOf(right, totals[1]);
  const one = mode === "share" ? leftShare : Number(left);
  const other = mode === "share" ? rightShare : Number(right);
  const change = distance(one, other);
  return { left, right, leftShare, rightShare, change, ...wordFor(one, other, change) };
}

function distance(left: number, right: number): number {
  const size = Math.abs(left) + Math.abs(right);
  return size === 0 ? 0 : Math.max(-1, Math.min(1, (right - left) / size));
}

function wordFor(left: number, right: number, change: number): { word: ChangeWord; times: number } {
  if (left === 0 && right !== 0) return { word: "new", times: 1 };
  if (right === 0 && left !== 0) return { word: "gone", times: 1 };
  if (Math.abs(change) < SAME_BELOW / 2) return { word: "same", times: 1 };
  return { word: change > 0 ? "more" : "less", times: Math.abs(right / left) };
}

/** The totals of a comparison; of one side the same twice. */
export function totalsOf(model: FlameModel): readonly [bigint, bigint] {
  const left = model.meta.totals[0] ?? 0n;
  return [left, model.meta.totals[1] ?? left];
}

/** How a node changed. */
export function changeOf(model: FlameModel, node: number, mode: DiffMode): Change {
  const left = model.total[0]?.exact[node] ?? 0n;
  return compareValues(left, model.total[1]?.exact[node] ?? left, totalsOf(model), mode);
}

/** Strength of a node's colour, −1 to 1, from doubles alone: called for every box that is drawn. */
export function strengthOf(
  model: FlameModel,
  node: number,
  totals: readonly [number, number],
  mode: DiffMode,
): number {
  const [leftColumn, rightColumn] = model.total;
  if (!leftColumn || !rightColumn) return 0;
  const left = numberAt(leftColumn, node);
  const right = numberAt(rightColumn, node);
  const leftShare = totals[0] === 0 ? 0 : left / totals[0];
  const rightShare = totals[1] === 0 ? 0 : right / totals[1];
  const change = mode === "share" ? distance(leftShare, rightShare) : distance(left, right);
  const size = Math.max(Math.abs(leftShare), Math.abs(rightShare));
  return change * Math.min(1, size / FLOOR_SHARE);
}
