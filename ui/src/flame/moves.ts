// Where keys lead: the box beside, above or below another one, and the point that stays where it is when keys zoom.

import { siblingsOf } from "./a11y.ts";
import type { FlameLayout } from "./layout.ts";
import type { FlameModel } from "./types.ts";
import type { View } from "./viewport.ts";

export type Step = "caller" | "callee" | "before" | "after";

/** The box next to another, in the sense of an arrow key; null where there is none. */
export function neighbour(model: FlameModel, layout: FlameLayout, node: number, to: Step): number | null {
  const position = layout.position[node] as number;
  if (to === "caller") return node === 0 ? null : (model.parent[node] as number);
  if (to === "callee") {
    const first = layout.children[position] as number;
    return first < (layout.children[position + 1] as number) ? widestChild(layout, position) : null;
  }
  const [first, end] = siblingsOf(model, layout, node);
  const next = position + (to === "after" ? 1 : -1);
  return next >= first && next < end ? (layout.node[next] as number) : null;
}

/** The widest child: in order of names it is not the first. */
function widestChild(layout: FlameLayout, position: number): number {
  let best = layout.children[position] as number;
  const end = layout.widestFirst ? best : (layout.children[position + 1] as number);
  for (let at = best + 1; at < end; at++) {
    if ((layout.width[at] as number) > (layout.width[best] as number)) best = at;
  }
  return layout.node[best] as number;
}

/** Zooming by key keeps the middle of a box where it is, if it can be seen; else the middle of the picture. */
export function zoomCentre(layout: FlameLayout, view: View, node: number): number {
  const position = layout.position[node] as number;
  const middle = ((layout.left[position] as number) + (layout.width[position] as number) / 2) / layout.span;
  const at = (middle - view.x0) / (view.x1 - view.x0);
  return at >= 0 && at <= 1 ? at : 0.5;
}
