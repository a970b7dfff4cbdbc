// Which part of a layout is looked at, and how it moves: focus, zoom at a point, pan, scroll, and the steps between two
// views of an animation. Pure; keeps every view inside the picture.

import type { FlameLayout } from "./layout.ts";
import type { FlameModel } from "./types.ts";

/** The part of the width (0 to 1) and how far the rows are scrolled, in pixels from the root's row. */
export interface View {
  readonly x0: number;
  readonly x1: number;
  readonly top: number;
}

export interface Frame {
  readonly width: number;
  readonly height: number;
  readonly rowHeight: number;
}

export const WHOLE: View = { x0: 0, x1: 1, top: 0 };
/** A narrower part of the whole cannot be told from rounding. */
const PART_MIN = 1e-12;
/** Rows of callers that stay in sight above a focus. */
const ROWS_ABOVE_FOCUS = 3;

export function scrollMax(layout: FlameLayout, frame: Frame): number {
  return Math.max(0, layout.rows * frame.rowHeight - frame.height);
}

export function clamp(view: View, layout: FlameLayout, frame: Frame): View {
  const part = Math.min(1, Math.max(PART_MIN, view.x1 - view.x0));
  const x0 = Math.min(1 - part, Math.max(0, view.x0));
  const top = Math.min(scrollMax(layout, frame), Math.max(0, view.top));
  return { x0, x1: x0 + part, top };
}

/** The view in which a node fills the width; its row is brought into sight, with some callers above it. */
export function focusOn(model: FlameModel, layout: FlameLayout, frame: Frame, node: number): View {
  const position = layout.position[node] as number;
  const width = layout.width[position] as number;
  if (node === 0 || !(width > 0)) return clamp(WHOLE, layout, frame);
  const x0 = (layout.left[position] as number) / layout.span;
  const row = model.depth[node] as number;
  const top = (row + 1) * frame.rowHeight > frame.height / 2 ? (row - ROWS_ABOVE_FOCUS) * frame.rowHeight : 0;
  return clamp({ x0, x1: x0 + width / layout.span, top }, layout, frame);
}

/** The smallest move that brings a node into sight; zooms only where the box would be too narrow to see. */
export function reveal(
  model: FlameModel,
  layout: FlameLayout,
  frame: Frame,
  view: View,
  node: number,
  pixelsMin: number,
): View {
  const position = layout.position[node] as number;
  const left = (layout.left[position] as number) / layout.span;
  const width = (layout.width[position] as number) / layout.span;
  let { x0, x1, top } = view;
  const wanted = (width * frame.width) / pixelsMin;
  if (wanted > 0 && wanted < x1 - x0) {
    const part = Math.max(PART_MIN, wanted);
    x0 = left + width / 2 - part / 2;
    x1 = x0 + part;
  } else if (left + width <= x0 || left >= x1) {
    const part = x1 - x0;
    x0 = left + width / 2 - part / 2;
    x1 = x0 + part;
  }
  const row = model.depth[node] as number;
  if (row * frame.rowHeight < top) top = row * frame.rowHeight;
  if ((row + 1) * frame.rowHeight > top + frame.height) top = (row + 1) * frame.rowHeight - frame.height;
  return clamp({ x0, x1, top }, layout, frame);
}

/** Zooms so that what is at `at` (0 to 1 of the drawing) stays there; `factor` below 1 shows less. */
export function zoomAt(view: View, layout: FlameLayout, frame: Frame, at: number, factor: number): View {
  const part = view.x1 - view.x0;
  const next = Math.min(1, Math.max(PART_MIN, part * factor));
  const fixed = view.x0 + part * at;
  return clamp({ x0: fixed - next * at, x1: fixed + next * (1 - at), top: view.top }, layout, frame);
}

/** Moves by pixels: to the right, and away from the root. */
export function panBy(view: View, layout: FlameLayout, frame: Frame, right: number, away: number): View {
  const step = (right / frame.width) * (view.x1 - view.x0);
  return clamp({ x0: view.x0 + step, x1: view.x1 + step, top: view.top + away }, layout, frame);
}

/** Between two views; widths go by their ratio, so that a deep zoom moves evenly. */
export function between(from: View, to: View, progress: number): View {
  const eased = 1 - (1 - progress) ** 3;
  const fromPart = from.x1 - from.x0;
  const toPart = to.x1 - to.x0;
  const part = fromPart * (toPart / fromPart) ** eased;
  // The edges follow the width, so that what is inside both views never leaves the picture.
  const moved = fromPart === toPart ? eased : (part - fromPart) / (toPart - fromPart);
  const x0 = from.x0 + (to.x0 - from.x0) * moved;
  return { x0, x1: x0 + part, top: from.top + (to.top - from.top) * eased };
}

export function sameView(one: View, other: View): boolean {
  return one.x0 === other.x0 && one.x1 === other.x1 && one.top === other.top;
}

/** Rows in sight: the first and the one after the last. */
export function rowsInSight(view: View, layout: FlameLayout, frame: Frame): readonly [number, number] {
  const first = Math.floor(view.top / frame.rowHeight);
  return [first, Math.min(layout.rows, Math.ceil((view.top + frame.height) / frame.rowHeight))];
}
