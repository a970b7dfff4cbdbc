// Which box is at a point: the row, then a binary search in it, then whether the box was drawn or merged. Touches a
// few dozen numbers whatever the size of the tree.

import type { FlameLayout } from "./layout.ts";
import type { FlameModel } from "./types.ts";

export interface Hit {
  readonly node: number;
  /** 0 = the box itself; else the node stands for a grey block of this many siblings. */
  readonly merged: number;
  /** Part of the whole width that the box or the block takes. */
  readonly x0: number;
  readonly x1: number;
  readonly row: number;
}

/**
 * What is drawn at a place: `x` in parts of the whole width, `least` the narrowest box that was drawn, in the same
 * parts.
 */
export function hitAt(model: FlameModel, layout: FlameLayout, x: number, row: number, least: number): Hit | null {
  if (row < 0 || row >= layout.rows || !(layout.span > 0)) return null;
  const edge = x * layout.span;
  const narrow = least * layout.span;
  let low = layout.rowStart[row] as number;
  let high = layout.rowStart[row + 1] as number;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((layout.left[middle] as number) + (layout.width[middle] as number) > edge) high = middle;
    else low = middle + 1;
  }
  if (low >= (layout.rowStart[row + 1] as number) || (layout.left[low] as number) > edge) return null;
  const node = layout.node[low] as number;
  const parent = model.parent[node] as number;
  const parentPosition = layout.position[parent] as number;
  if (node !== 0 && (layout.width[parentPosition] as number) < narrow) return null; // below a grey block
  if (node === 0 || (layout.width[low] as number) >= narrow) return hit(layout, node, low, low + 1, row, 0);
  const [first, end] = block(layout, low, parentPosition, narrow);
  return hit(layout, layout.node[first] as number, first, end, row, end - first);
}

/** The neighbours of a narrow box that were merged with it. */
function block(layout: FlameLayout, at: number, parent: number, narrow: number): readonly [number, number] {
  const childrenEnd = layout.children[parent + 1] as number;
  const childrenStart = layout.children[parent] as number;
  let first = at;
  if (layout.widestFirst) {
    // Everything from the first narrow one on; widths fall, so it is found by halving.
    let low = childrenStart;
    let high = at;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((layout.width[middle] as number) < narrow) high = middle;
      else low = middle + 1;
    }
    return [low, childrenEnd];
  }
  while (first > childrenStart && (layout.width[first - 1] as number) < narrow) first--;
  let end = at + 1;
  while (end < childrenEnd && (layout.width[end] as number) < narrow) end++;
  return [first, end];
}

function hit(layout: FlameLayout, node: number, first: number, end: number, row: number, merged: number): Hit {
  const right = (layout.left[end - 1] as number) + (layout.width[end - 1] as number);
  return { node, merged, x0: (layout.left[first] as number) / layout.span, x1: right / layout.span, row };
}
