// Where boxes stand: rows from the root down, in each row from left to right, siblings side by side inside their
// parent. Widths come from own values alone (their sizes, both sides together, as in the terminal's and the HTML
// picture), so that children never stick out of their parent, whatever the signs. Refuses nothing: a model is sound.

import { numberAt } from "./column.ts";
import type { Column, DiffMode, FlameModel, Order } from "./types.ts";

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
  /** Largest width of every 4, 16, 64 … positions, to find wide boxes without looking at all. */
  readonly peaks: readonly Float64Array[];
}

export const PEAK_BITS = 2;

export function layOut(model: FlameModel, options: LayoutOptions): FlameLayout {
  const rows = model.depthMax + 1;
  const rowStart = startsOfRows(model, rows);
  const widestFirst = options.order === "size";
  const total = model.sides === 1 ? model.total[0] : undefined;
  // Nearly always the totals themselves are the widths and siblings stand in order: one pass, no further column.
  const inOrder = widestFirst && total ? placeInOrder(model, total, rowStart) : null;
  const placed = inOrder ?? placeSorted(model, widths(model, options.diffMode ?? "share"), options);
  let peaks: Float64Array[] | null = null;
  return {
    rows,
    rowStart,
    ...placed,
    span: placed.width[0] as number,
    widestFirst,
    // Only a picture that does not begin at the root, or one in order of names, asks for them.
    get peaks() {
      peaks ??= peaksOf(placed.width);
      return peaks;
    },
  };
}

type Placed = Pick<FlameLayout, "node" | "position" | "children" | "left" | "width">;

function emptyPlaces(size: number): Placed {
  return {
    node: new Uint32Array(size),
    position: new Uint32Array(size),
    children: new Uint32Array(size + 1),
    left: new Float64Array(size),
    width: new Float64Array(size),
  };
}

/** Width of every node: sizes of own values, plus the widths of all children. */
function widths(model: FlameModel, mode: DiffMode): Float64Array {
  const { size, parent, self } = model;
  const width = new Float64Array(size);
  for (const column of self) {
    const scale = self.length === 1 || mode === "absolute" ? 1 : sharePer(column, size);
    for (let node = 0; node < size; node++) {
      width[node] = (width[node] as number) + Math.abs(numberAt(column, node)) * scale;
    }
  }
  for (let node = size - 1; node > 0; node--) {
    const above = parent[node] as number;
    width[above] = (width[above] as number) + (width[node] as number);
  }
  return width;
}

/** One as a share of everything on a side. */
function sharePer(column: Column, size: number): number {
  let sum = 0;
  for (let node = 0; node < size; node++) sum += Math.abs(numberAt(column, node));
  return sum === 0 ? 0 : 1 / sum;
}

/**
 * Places in the order of the reply, in one pass, totals as widths. Null where that would not do: siblings that do not
 * stand widest first, or children that do not fit into their parent (negative values; sums that do not hold).
 */
function placeInOrder(model: FlameModel, total: Column, rowStart: Uint32Array): Placed | null {
  const { size, depth } = model;
  const places = emptyPlaces(size);
  const { node: nodes, position, children, left, width } = places;
  // Per row: the next position, where the next sibling begins, how wide the one before is, where the parent ends.
  const next = rowStart.slice();
  const edge = new Float64Array(rowStart.length + 1);
  const before = new Float64Array(rowStart.length + 1).fill(Number.POSITIVE_INFINITY);
  const limit = new Float64Array(rowStart.length + 1).fill(Number.POSITIVE_INFINITY);
  for (let node = 0; node < size; node++) {
    const row = depth[node] as number;
    const own = numberAt(total, node);
    const begin = edge[row] as number;
    if (!(own >= 0 && own <= (before[row] as number) && begin + own <= (limit[row] as number))) return null;
    const at = next[row] as number;
    next[row] = at + 1;
    nodes[at] = node;
    position[node] = at;
    width[at] = own;
    left[at] = begin;
    edge[row] = begin + own;
    before[row] = own;
    edge[row + 1] = begin;
    before[row + 1] = Number.POSITIVE_INFINITY;
    limit[row + 1] = begin + own;
    if (node !== 0) {
      const above = (next[row - 1] as number) - 1;
      if (children[above] === 0) children[above] = at;
    }
  }
  // Who has no child has an empty range where the next one's begins.
  children[size] = size;
  for (let at = size - 1; at >= 0; at--) {
    if (children[at] === 0) children[at] = children[at + 1] as number;
  }
  return places;
}

/** Places with siblings brought into order. */
function placeSorted(model: FlameModel, widthOf: Float64Array, options: LayoutOptions): Placed {
  const { size } = model;
  const places = emptyPlaces(size);
  const { node, position, children, left, width } = places;
  const counts = new Uint32Array(size);
  for (let one = 1; one < size; one++) {
    const parent = model.parent[one] as number;
    counts[parent] = (counts[parent] as number) + 1;
  }
  node.set(byRows(model, startsOfRows(model, model.depthMax + 1)));
  sortSiblings(node, counts, children, options.order === "size" ? widestFirst(widthOf) : byName(model));
  width[0] = widthOf[0] as number;
  for (let at = 0; at < size; at++) {
    position[node[at] as number] = at;
    let edge = left[at] as number;
    const last = children[at + 1] as number;
    for (let child = children[at] as number; child < last; child++) {
      const own = widthOf[node[child] as number] as number;
      left[child] = edge;
      width[child] = own;
      edge += own;
    }
  }
  return places;
}

function startsOfRows(model: FlameModel, rows: number): Uint32Array {
  const starts = new Uint32Array(rows + 1);
  for (let row = 0; row < rows; row++) starts[row + 1] = (starts[row] as number) + (model.rowSizes[row] as number);
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
