// Functions as tables, with the server's own rules: a function that is on a stack several times counts that stack
// once (only the outermost adds its total), and so does a pair of caller and callee; calls to itself are neither.
// A frame is a function: the reply names each once. Sums are exact. A pruned reply lacks functions: the page must ask the server instead, `canCount` says which.

import { ExactSums } from "./column.ts";
import type { Column, FlameModel } from "./types.ts";

/** A function and its values, per side. */
export interface FunctionRow {
  /** A frame of it, for colour and search. */
  readonly frame: number;
  readonly name: string;
  readonly file: string;
  readonly self: readonly bigint[];
  readonly total: readonly bigint[];
}

/** A caller or callee and the value that flows between, per side; an empty name = called by nobody. */
export interface FunctionSide {
  readonly frame: number;
  readonly name: string;
  readonly file: string;
  readonly value: readonly bigint[];
}

export interface Sandwich {
  readonly row: FunctionRow;
  readonly callers: readonly FunctionSide[];
  readonly callees: readonly FunctionSide[];
}

/** Whether tables may be counted from this reply. */
export function canCount(model: FlameModel): boolean {
  return !model.pruned && !model.inverted;
}

/** All functions: largest self first, then largest total, then by name (of a comparison: by the right side). */
export function topTable(model: FlameModel): FunctionRow[] {
  const sums = model.total.map((total, side) => functionSums(model, model.self[side] ?? total, total));
  const last = sums[sums.length - 1];
  if (!last) return [];
  const found: number[] = [];
  for (let frame = 0; frame < model.frames.size; frame++) {
    if (frame === model.restFrame) continue;
    if (sums.some(({ self, total }) => !self.isZero(frame) || !total.isZero(frame))) found.push(frame);
  }
  const bySelf = largestFirst(last.self);
  const byTotal = largestFirst(last.total);
  found.sort(
    (left, right) =>
      bySelf(left, right) || byTotal(left, right) || ascending(nameOfFrame(model, left), nameOfFrame(model, right)),
  );
  return found.map((frame) => ({
    ...namesOf(model, frame),
    self: sums.map((side) => side.self.exact(frame)),
    total: sums.map((side) => side.total.exact(frame)),
  }));
}

/** Compares as doubles; big integers are asked only where those are equal and too large to be exact. */
function largestFirst(sums: ExactSums): (left: number, right: number) => number {
  const near = sums.numbers();
  return (left, right) => {
    const one = near[left] as number;
    const other = near[right] as number;
    if (one !== other) return other - one;
    return Number.isSafeInteger(one) ? 0 : descending(sums.exact(left), sums.exact(right));
  };
}

/** Sums per frame of one side; a total is added where no caller on the path is the same function. */
function functionSums(model: FlameModel, selfs: Column, totals: Column): { self: ExactSums; total: ExactSums } {
  const { size, depth, frame } = model;
  const self = new ExactSums(model.frames.size);
  const total = new ExactSums(model.frames.size);
  const onPath = new Uint32Array(model.frames.size);
  const open = new Uint32Array(model.depthMax + 2);
  let level = 0;
  for (let node = 1; node < size; node++) {
    const own = depth[node] as number;
    while (level >= own) {
      const left = open[level--] as number;
      onPath[left] = (onPath[left] as number) - 1;
    }
    const name = frame[node] as number;
    self.add(name, selfs, node);
    const times = onPath[name] as number;
    if (times === 0) total.add(name, totals, node);
    onPath[name] = times + 1;
    open[own] = name;
    level = own;
  }
  return { self, total };
}

/** Callers and callees of a function by its name; one that is not there has zeros. */
export function sandwich(model: FlameModel, functionName: string): Sandwich {
  const { sides, frames } = model;
  const wanted = new Uint8Array(frames.size);
  let first = -1;
  for (let frame = 0; frame < frames.size; frame++) {
    // The root's frame is that of an empty name and is no function.
    if (frame === model.restFrame || model.strings[frames.name[frame] as number] !== functionName) continue;
    if (frame === (model.frame[0] as number)) continue;
    wanted[frame] = 1;
    if (first < 0) first = frame;
  }
  const own = Array.from({ length: sides }, () => new ExactSums(2));
  const callers = new Pairs(model);
  const callees = new Pairs(model);
  // The open path: frame, which pairs the step belongs to (0 = none, 1 = callers, 2 = callees), and the other function.
  const openFrame = new Uint32Array(model.depthMax + 2);
  const openPairs = new Uint8Array(model.depthMax + 2);
  const openKey = new Uint32Array(model.depthMax + 2);
  openFrame[0] = model.frame[0] as number;
  let wantedOpen = 0;
  let depth = 0;
  for (let node = 1; node < model.size; node++) {
    const nodeDepth = model.depth[node] as number;
    for (; depth >= nodeDepth; depth--) {
      if (openPairs[depth] === 1) callers.leave(openKey[depth] as number);
      if (openPairs[depth] === 2) callees.leave(openKey[depth] as number);
      wantedOpen -= wanted[openFrame[depth] as number] as number;
    }
    const frame = model.frame[node] as number;
    const above = openFrame[nodeDepth - 1] as number;
    const isWanted = wanted[frame] === 1;
    depth = nodeDepth;
    openFrame[depth] = frame;
    openPairs[depth] = 0;
    if (isWanted !== (wanted[above] === 1)) {
      const key = isWanted ? above : frame;
      (isWanted ? callers : callees).enter(key, node);
      openPairs[depth] = isWanted ? 1 : 2;
      openKey[depth] = key;
    }
    if (!isWanted) continue;
    for (let side = 0; side < sides; side++) {
      own[side]?.add(0, model.self[side] as FlameModel["self"][0], node);
      if (wantedOpen === 0) own[side]?.add(1, model.total[side] as FlameModel["total"][0], node);
    }
    wantedOpen++;
  }
  const names = first < 0 ? { frame: -1, name: functionName, file: "" } : namesOf(model, first);
  return {
    row: { ...names, self: own.map((sums) => sums.exact(0)), total: own.map((sums) => sums.exact(1)) },
    callers: callers.sides(),
    callees: callees.sides(),
  };
}

/** Values of pairs by the other function; a pair inside itself adds nothing. */
class Pairs {
  private readonly sums: ExactSums[];
  private readonly onPath: Uint32Array;
  private readonly seen: Uint8Array;

  constructor(private readonly model: FlameModel) {
    this.sums = model.total.map(() => new ExactSums(model.frames.size));
    this.onPath = new Uint32Array(model.frames.size);
    this.seen = new Uint8Array(model.frames.size);
  }

  enter(key: number, node: number): void {
    const open = this.onPath[key] as number;
    if (open === 0) {
      this.seen[key] = 1;
      this.sums.forEach((sums, side) => {
        sums.add(key, this.model.total[side] as FlameModel["total"][0], node);
      });
    }
    this.onPath[key] = open + 1;
  }

  leave(key: number): void {
    this.onPath[key] = (this.onPath[key] as number) - 1;
  }

  sides(): FunctionSide[] {
    const found: FunctionSide[] = [];
    for (let frame = 0; frame < this.seen.length; frame++) {
      if (this.seen[frame] === 0 || frame === this.model.restFrame) continue;
      found.push({ ...namesOf(this.model, frame), value: this.sums.map((sums) => sums.exact(frame)) });
    }
    const last = this.model.sides - 1;
    return found.sort(
      (left, right) => descending(left.value[last], right.value[last]) || ascending(left.name, right.name),
    );
  }
}

function nameOfFrame(model: FlameModel, frame: number): string {
  return model.strings[model.frames.name[frame] as number] ?? "";
}

function namesOf(model: FlameModel, frame: number): { frame: number; name: string; file: string } {
  return {
    frame,
    name: nameOfFrame(model, frame),
    file: model.strings[model.frames.file[frame] as number] ?? "",
  };
}

export function descending(left: bigint | undefined, right: bigint | undefined): number {
  const one = left ?? 0n;
  const other = right ?? 0n;
  return one > other ? -1 : one < other ? 1 : 0;
}

/** By code points, which is the order of the bytes that the server sorts by. */
export function ascending(left: string, right: string): number {
  if (left === right) return 0;
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at++) {
    const one = left.charCodeAt(at);
    const other = right.charCodeAt(at);
    if (one !== other) {
      const isHigh = (unit: number) => unit >= 0xd800 && unit <= 0xdfff;
      if (isHigh(one) !== isHigh(other)) return isHigh(one) ? 1 : -1;
      return one < other ? -1 : 1;
    }
  }
  return left.length - right.length;
}
