// Which boxes a picture has: walks down from the first row in sight and leaves out what cannot be seen. Children too
// narrow to draw become one grey block per gap, and nothing below them is visited, so the work follows what is drawn
// and not the size of the tree. Pure numbers in, pure numbers out; the counts are the gates of the tests.

import { type FlameLayout, nextWide } from "./layout.ts";

/** What of the layout is in sight. */
export interface Sight {
  /** Part of the whole width, 0 to 1. */
  readonly x0: number;
  readonly x1: number;
  /** First row and the one after the last. */
  readonly rowFirst: number;
  readonly rowEnd: number;
  /** Width of the drawing in its own pixels. */
  readonly pixels: number;
  /** Narrower boxes are merged, in pixels. */
  readonly least: number;
  /** No more boxes than this; what is merged grows until they fit. */
  readonly boxesMax: number;
}

/** Boxes of one picture; the lists grow and are used again. */
export interface Boxes {
  count: number;
  /** Left edge, width (whole pixels) and row. */
  x: Int32Array;
  width: Int32Array;
  row: Int32Array;
  /** Position in the layout: of the box, or of the first box of a grey block. */
  position: Int32Array;
  /** 0 = a box of its own, else the position after the last one of the grey block. */
  blockEnd: Int32Array;
  /** Nodes looked at, blocks of the peaks included. */
  visited: number;
  /** What was merged in the end, in pixels. */
  least: number;
}

export function noBoxes(): Boxes {
  const list = () => new Int32Array(1024);
  return {
    count: 0,
    x: list(),
    width: list(),
    row: list(),
    position: list(),
    blockEnd: list(),
    visited: 0,
    least: 0,
  };
}

/** How much more is merged when there are too many boxes. */
const LEAST_GROWTH = 1.5;

/** Fills `boxes` with what is in sight. */
export function walk(layout: FlameLayout, sight: Sight, boxes: Boxes): Boxes {
  boxes.visited = 0;
  boxes.least = sight.least;
  while (!pass(layout, sight, boxes)) boxes.least *= LEAST_GROWTH;
  return boxes;
}

// Wide positions of the row that is drawn, and of the one below; used again by every walk.
let current = new Uint32Array(1024);
let below = new Uint32Array(1024);
let belowCount = 0;

/** One walk, row by row; false when there are more boxes than allowed. */
function pass(layout: FlameLayout, sight: Sight, boxes: Boxes): boolean {
  boxes.count = 0;
  const from = sight.x0 * layout.span;
  const to = sight.x1 * layout.span;
  if (!(to > from) || sight.rowEnd <= sight.rowFirst || sight.rowFirst >= layout.rows) return true;
  const scale = sight.pixels / (to - from);
  const part = { from, to, scale, least: boxes.least / scale, pixels: sight.pixels };
  // The first row in sight hangs below the row above it; those parents are found without looking at their ancestors.
  const startRow = Math.max(0, sight.rowFirst - 1);
  let count = wideInRow(layout, startRow, part, boxes);
  if (startRow >= sight.rowFirst) {
    for (let index = 0; index < count; index++) add(boxes, layout, current[index] as number, 0, startRow, part);
  }
  for (let row = startRow + 1; row < sight.rowEnd && count > 0; row++) {
    belowCount = 0;
    for (let index = 0; index < count; index++) {
      children(layout, current[index] as number, row, part, boxes);
      if (boxes.count > sight.boxesMax) return false;
    }
    [current, below] = [below, current];
    count = belowCount;
  }
  return boxes.count <= sight.boxesMax;
}

interface Part {
  readonly from: number;
  readonly to: number;
  readonly scale: number;
  readonly least: number;
  readonly pixels: number;
}

/** Writes the wide positions of one row that are in sight to `current`. */
function wideInRow(layout: FlameLayout, row: number, part: Part, boxes: Boxes): number {
  const end = layout.rowStart[row + 1] as number;
  if (row === 0) {
    boxes.visited++;
    current[0] = 0;
    return (layout.width[0] as number) >= part.least ? 1 : 0;
  }
  let count = 0;
  let at = firstEndingAfter(layout, layout.rowStart[row] as number, end, part.from, boxes);
  while (at < end) {
    at = nextWide(layout, at, end, part.least, boxes);
    if (at >= end || (layout.left[at] as number) >= part.to) break;
    if (count === current.length) current = longer(current);
    current[count++] = at++;
  }
  return count;
}

/** Boxes and grey blocks of one parent's children. */
function children(layout: FlameLayout, parent: number, row: number, part: Part, boxes: Boxes): void {
  const end = layout.children[parent + 1] as number;
  let at = layout.children[parent] as number;
  if (at === end) return;
  if ((layout.left[at] as number) + (layout.width[at] as number) <= part.from) {
    at = firstEndingAfter(layout, at, end, part.from, boxes);
  }
  while (at < end && (layout.left[at] as number) < part.to) {
    boxes.visited++;
    if ((layout.width[at] as number) >= part.least) {
      if (belowCount === below.length) below = longer(below);
      below[belowCount++] = at;
      add(boxes, layout, at, 0, row, part);
      at++;
    } else {
      const next = layout.widestFirst ? end : nextWide(layout, at, end, part.least, boxes);
      add(boxes, layout, at, next, row, part);
      at = next;
    }
  }
}

/** The first position whose right edge lies behind `edge`; edges grow from left to right. */
function firstEndingAfter(layout: FlameLayout, from: number, to: number, edge: number, boxes: Boxes): number {
  let low = from;
  let high = to;
  while (low < high) {
    boxes.visited++;
    const middle = (low + high) >>> 1;
    if ((layout.left[middle] as number) + (layout.width[middle] as number) > edge) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Adds a box, snapped to whole pixels and cut to the drawing; what rounds to nothing is not there. */
function add(boxes: Boxes, layout: FlameLayout, position: number, blockEnd: number, row: number, part: Part): void {
  const last = blockEnd === 0 ? position : blockEnd - 1;
  const left = ((layout.left[position] as number) - part.from) * part.scale;
  const right = ((layout.left[last] as number) + (layout.width[last] as number) - part.from) * part.scale;
  const x = Math.max(0, Math.round(left));
  const width = Math.min(part.pixels, Math.round(right)) - x;
  if (width <= 0) return;
  const at = boxes.count++;
  if (at === boxes.x.length) grow(boxes);
  boxes.x[at] = x;
  boxes.width[at] = width;
  boxes.row[at] = row;
  boxes.position[at] = position;
  boxes.blockEnd[at] = blockEnd;
}

function longer(list: Uint32Array): Uint32Array<ArrayBuffer> {
  const copy = new Uint32Array(list.length * 2);
  copy.set(list);
  return copy;
}

function grow(boxes: Boxes): void {
  for (const key of ["x", "width", "row", "position", "blockEnd"] as const) {
    const copy = new Int32Array(boxes[key].length * 2);
    copy.set(boxes[key]);
    boxes[key] = copy;
  }
}
