// Where boxes stand: rows from the root down, in each row from left to right, siblings side by side inside their
// parent. Widths come from own values alone (their sizes, both sides together, as in the terminal's and the HTML
// picture), so that children never stick out of their parent, whatever the signs. Refuses nothing: a model is sound.

import { numberAt } from "./column.ts";
import type { DiffMode, FlameModel, Order } from "./types.ts";

export interface LayoutOptions {
  readonly order: Order;
  readonly diffMode?: DiffMode;
}

/** Boxes by position: row after row, left to right. All of a node's children are neighbours. */
export interface FlameLayout {
  /** Number of rows. */
  readonly rows: number;
  /** Where each row begins; one more entry than rows. */
  readonly rowStart: Uint32Array;
  /** Which node stands at a position, and the other way round. */
  readonly node: Uint32Array;
  readonly position: Uint32Array;
  /** First child of a position; one more entry than positions, so that the next entry ends the children. */
  readonly children: Uint32Array;
  /** Left edge and width in the unit of the values (for shares: of 1 per side). */
  readonly left: Float64Array;
  readonly width: Float64Array;
  /** Width of everything. */
  readonly span: number;
  /** Siblings stand widest first, so the first that is too narrow ends them. */
  readonly widestFirst: boolean;
  /** Largest width of every 16, 256, 4,096 … positions, to find wide boxes without looking at all. */
  readonly peaks: readonly Float64Array[];
}

export const PEAK_BITS = 4;

export function layOut(model: FlameModel, options: LayoutOptions): FlameLayout {
  const { size } = model;
  const byNode = widths(model, options.diffMode ?? "share");
  const counts = new Uint32Array(size);
  for (let node = 1; node < size; node++) {
    const parent = model.parent[node] as number;
    counts[parent] = (counts[parent] as number) + 1;
  }
  const rows = model.depthMax + 1;
  const rowStart = startsOfRows(model, rows);
  const node = byRows(model, rowStart);
  const children = new Uint32Array(size + 1);
  const wanted = options.order;
  const sorted = wanted === "size" ? sortedByWidth(model, node, byNode) : false;
  if (sorted) {
    childrenOf(node, counts, children);
  } else {
    const compare = wanted === "size" ? widestFirst(byNode) : byName(model);
    sortSiblings(node, counts, children, compare);
  }
  const position = new Uint32Array(size);
  const left = new Float64Array(size);
  const width = new Float64Array(size);
  width[0] = byNode[0] as number;
  for (let at = 0; at < size; at++) {
    const own = node[at] as number;
    position[own] = at;
    let edge = left[at] as number;
    const last = children[at + 1] as number;
    for (let child = children[at] as number; child < last; child++) {
      const childWidth = byNode[node[child] as number] as number;
      left[child] = edge;
      width[child] = childWidth;
      edge += childWidth;
    }
  }
  return {
    rows,
    rowStart,
    node,
    position,
    children,
    left,
    width,
    span: width[0] as number,
    widestFirst: wanted === "size",
    peaks: peaksOf(width),
  };
}

/** Width of every node: sizes of own values, plus the widths of all children. */
function widths(model: FlameModel, mode: DiffMode): Float64Array {
  const { size, parent, self } = model;
  const width = new Float64Array(size);
  const scales = self.map((column) => {
    if (self.length === 1 || mode === "absolute") return 1;
    let sum = 0;
    for (let node = 0; node < size; node++) sum += Math.abs(numberAt(column, node));
    return sum === 0 ? 0 : 1 / sum;
  });
  self.forEach((column, side) => {
    const scale = scales[side] as number;
    for (let node = 0; node < size; node++) {
      width[node] = (width[node] as number) + Math.abs(numberAt(column, node)) * scale;
    }
  });
  for (let node = size - 1; node > 0; node--) {
    const above = parent[node] as number;
    width[above] = (width[above] as number) + (width[node] as number);
  }
  return width;
}

function startsOfRows(model: FlameModel, rows: number): Uint32Array {
  const starts = new Uint32Array(rows + 1);
  for (let node = 0; node < model.size; node++) {
    const below = (model.depth[node] as number) + 1;
    starts[below] = (starts[below] as number) + 1;
  }
  for (let row = 0; row < rows; row++) starts[row + 1] = (starts[row + 1] as number) + (starts[row] as number);
  return starts;
}

/** Nodes row by row, in the order of the reply. */
function byRows(model: FlameModel, rowStart: Uint32Array): Uint32Array {
  const next = rowStart.slice();
  const nodes = new Uint32Array(model.size);
  for (let node = 0; node < model.size; node++) {
    const row = model.depth[node] as number;
    const at = next[row] as number;
    nodes[at] = node;
    next[row] = at + 1;
  }
  return nodes;
}

function sortedByWidth(model: FlameModel, nodes: Uint32Array, width: Float64Array): boolean {
  for (let at = 2; at < nodes.length; at++) {
    const own = nodes[at] as number;
    const before = nodes[at - 1] as number;
    if (model.parent[own] === model.parent[before] && (width[own] as number) > (width[before] as number))
      return false;
  }
  return true;
}

/** First child of each position, where rows already stand in order. */
function childrenOf(nodes: Uint32Array, counts: Uint32Array, children: Uint32Array): void {
  let next = 1;
  for (let at = 0; at < nodes.length; at++) {
    children[at] = next;
    next += counts[nodes[at] as number] as number;
  }
  children[nodes.length] = nodes.length;
}

/** Brings siblings into order, row after row, so that children stay below their parents. */
function sortSiblings(
  nodes: Uint32Array,
  counts: Uint32Array,
  children: Uint32Array,
  compare: (left: number, right: number) => number,
): void {
  const original = nodes.slice();
  // Where the children of a node stand in the original rows.
  const first = new Uint32Array(nodes.length);
  let from = 1;
  for (const node of original) {
    first[node] = from;
    from += counts[node] as number;
  }
  let next = 1;
  for (let at = 0; at < nodes.length; at++) {
    const node = nodes[at] as number;
    const start = first[node] as number;
    const count = counts[node] as number;
    children[at] = next;
    const siblings = original.subarray(start, start + count);
    if (count > 1) siblings.sort(compare);
    nodes.set(siblings, next);
    next += count;
  }
  children[nodes.length] = nodes.length;
}

function widestFirst(width: Float64Array): (left: number, right: number) => number {
  return (left, right) => (width[right] as number) - (width[left] as number) || left - right;
}

/** By name, what was left out last; code units, as stable as the names. */
function byName(model: FlameModel): (left: number, right: number) => number {
  const order = Array.from(model.strings.keys());
  order.sort((left, right) => {
    const one = model.strings[left] as string;
    const other = model.strings[right] as string;
    return one < other ? -1 : one > other ? 1 : 0;
  });
  const rank = new Uint32Array(order.length);
  order.forEach((string, at) => {
    rank[string] = at;
  });
  const rankOf = (node: number) => {
    const frame = model.frame[node] as number;
    return frame === model.restFrame ? order.length : (rank[model.frames.name[frame] as number] as number);
  };
  return (left, right) => rankOf(left) - rankOf(right) || left - right;
}

function peaksOf(width: Float64Array): Float64Array[] {
  const levels: Float64Array[] = [];
  let below = width;
  while (below.length > 1 << PEAK_BITS) {
    const level = new Float64Array(Math.ceil(below.length / (1 << PEAK_BITS)));
    for (let at = 0; at < below.length; at++) {
      const above = at >> PEAK_BITS;
      if ((below[at] as number) > (level[above] as number)) level[above] = below[at] as number;
    }
    levels.push(level);
    below = level;
  }
  return levels;
}

/** The next position from `from` on, before `to`, that is at least `least` wide; `to` if there is none. */
export function nextWide(
  layout: FlameLayout,
  from: number,
  to: number,
  least: number,
  counted: { visited: number },
): number {
  let at = from;
  let level = 0;
  while (at < to) {
    const values = level === 0 ? layout.width : (layout.peaks[level - 1] as Float64Array);
    counted.visited++;
    const index = Math.floor(at / 2 ** (PEAK_BITS * level));
    if ((values[index] as number) >= least) {
      if (level === 0) return at;
      level--;
      continue;
    }
    at = (index + 1) * 2 ** (PEAK_BITS * level);
    // Climb where a whole block begins here.
    while (level < layout.peaks.length && at % 2 ** (PEAK_BITS * (level + 1)) === 0) level++;
  }
  return to;
}
