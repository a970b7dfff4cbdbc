// The part of the tree that a screen reader is given: the chosen node, its nearest callers and a window of its
// siblings. Never more than 40 entries, whatever the size of the tree.

import { exactAt, shareOf } from "./column.ts";
import { changeOf } from "./diff.ts";
import { visible } from "./label.ts";
import type { FlameLayout } from "./layout.ts";
import { fileOf, nameOf, pathTo } from "./model.ts";
import { timesText } from "./scene.ts";
import type { FlameText } from "./text.ts";
import type { DiffMode, FlameModel } from "./types.ts";

export const ITEMS_MAX = 40;
const CALLERS_MAX = 18;
const SIBLINGS_EACH_SIDE = 10;
/** Longer names are cut where they are read out or shown in one line. */
const NAME_MAX = 400;

export interface TreeItem {
  readonly node: number;
  readonly level: number;
  readonly place: number;
  readonly siblings: number;
  readonly hasChildren: boolean;
  readonly label: string;
}

/** Entries for a chosen node, callers first, then its row from left to right. */
export function treeItems(model: FlameModel, layout: FlameLayout, node: number, text: FlameText): TreeItem[] {
  const path = pathTo(model, node);
  const callers = path.slice(0, -1);
  const near = callers.length > CALLERS_MAX ? [0, ...callers.slice(1 - CALLERS_MAX)] : callers;
  const items = near.map((one) => item(model, layout, one, text));
  const [first, end] = siblingsOf(model, layout, node);
  const own = layout.position[node] as number;
  const from = Math.max(first, own - SIBLINGS_EACH_SIDE);
  const to = Math.min(end, own + SIBLINGS_EACH_SIDE + 1);
  for (let at = from; at < to; at++) items.push(item(model, layout, layout.node[at] as number, text));
  return items;
}

function item(model: FlameModel, layout: FlameLayout, node: number, text: FlameText): TreeItem {
  const [first, end] = siblingsOf(model, layout, node);
  const position = layout.position[node] as number;
  return {
    node,
    level: (model.depth[node] as number) + 1,
    place: position - first + 1,
    siblings: end - first,
    hasChildren: (layout.children[position + 1] as number) > (layout.children[position] as number),
    label: `${nameText(model, node, text)}, ${totalText(model, node, text)}`,
  };
}

/** First position and the one after the last of a node's siblings, itself among them. */
export function siblingsOf(model: FlameModel, layout: FlameLayout, node: number): readonly [number, number] {
  if (node === 0) return [0, 1];
  const parent = layout.position[model.parent[node] as number] as number;
  return [layout.children[parent] as number, layout.children[parent + 1] as number];
}

/** A node's name as a line of text. */
export function nameText(model: FlameModel, node: number, text: FlameText): string {
  if (node === 0) return text.total;
  const left = model.rest.get(node);
  if (left !== undefined) return text.rest(left);
  const name = nameOf(model, node);
  if (name === "") return text.noName;
  return visible(name.length > NAME_MAX ? `${name.slice(0, NAME_MAX)}…` : name);
}

/** Where the function is, `file:line`; empty if that is not known. */
export function placeText(model: FlameModel, node: number): string {
  const file = visible(fileOf(model, node).slice(-NAME_MAX));
  const line = model.frames.line[model.frame[node] as number] as number;
  return file !== "" && line > 0 ? `${file}:${line}` : file;
}

function totalText(model: FlameModel, node: number, text: FlameText): string {
  const last = model.sides - 1;
  const column = model.total[last];
  const value = column ? exactAt(column, node) : 0n;
  const share = shareOf(value, model.meta.totals[last] ?? 0n);
  return text.totalOf(text.numbers.value(value), text.numbers.share(share));
}

/** Everything about a node for the details line, in pieces that are joined by dots. */
export function detailTexts(
  model: FlameModel,
  node: number,
  focus: number,
  mode: DiffMode,
  text: FlameText,
): readonly string[] {
  const { numbers } = text;
  const last = model.sides - 1;
  const total = exactAt(model.total[last] as FlameModel["total"][0], node);
  const self = exactAt(model.self[last] as FlameModel["self"][0], node);
  const all = model.meta.totals[last] ?? 0n;
  const ofNode = (other: number) => exactAt(model.total[last] as FlameModel["total"][0], other);
  const parts: string[] = [];
  if (model.sides === 2) {
    const change = changeOf(model, node, mode);
    const word =
      change.word === "more" || change.word === "less"
        ? text.change[change.word](timesText(change.times))
        : text.change[change.word];
    parts.push(
      text.sides(
        numbers.value(change.left),
        numbers.share(change.leftShare),
        numbers.value(change.right),
        numbers.share(change.rightShare),
      ),
      mode === "share" ? text.byShare(word) : word,
    );
  } else {
    parts.push(
      text.self(numbers.value(self), numbers.share(shareOf(self, all))),
      text.totalOf(numbers.value(total), numbers.share(shareOf(total, all))),
    );
  }
  if (node !== 0) parts.push(text.ofParent(numbers.share(shareOf(total, ofNode(model.parent[node] as number)))));
  if (focus !== 0 && focus !== node) parts.push(text.ofFocus(numbers.share(shareOf(total, ofNode(focus)))));
  const place = placeText(model, node);
  if (place !== "") parts.push(place);
  return parts;
}

/** The stack of a node as text, root's callee first, one name per line. */
export function stackText(model: FlameModel, node: number, text: FlameText): string {
  return pathTo(model, node)
    .slice(1)
    .map((one) => nameText(model, one, text))
    .join("\n");
}
