// Files of the picture that is on the screen: PNG, SVG, a page of its own. Made in the browser, saved by it.

import type { Tree } from "../data/flame.ts";
import { drawToPng, drawToSvg, type FlameText, findByPathHash, parseQuery, searchMatches } from "../flame/index.ts";
import type { Text } from "../i18n/en.ts";
import { type Explore, orderOf } from "../state/explore.ts";
import type { Numbers } from "../state/format.ts";
import { saveFile } from "../widgets/copy.ts";
import { type PageFacts, pageOf } from "./page.ts";

export type FileKind = "png" | "svg" | "html";

export interface Saving {
  readonly kind: FileKind;
  readonly name: string;
  readonly tree: Tree;
  readonly state: Explore;
  readonly facts: PageFacts;
  readonly text: Text;
  readonly flameText: FlameText;
  readonly numbers: Numbers;
}

export async function save({ kind, name, tree, state, facts, text, flameText, numbers }: Saving): Promise<void> {
  const { model } = tree;
  if (kind === "html") {
    const look = { order: orderOf(state), diffMode: state.diffBy, flameText };
    saveFile(name, new Blob([pageOf(model, facts, text, numbers, look)], { type: "text/html" }));
    return;
  }
  const query = parseQuery(state.search);
  const options = {
    focus: state.at === null ? 0 : (findByPathHash(model, state.at) ?? 0),
    matches: query && !("error" in query) ? searchMatches(model, query) : null,
    direction: state.direction,
    order: orderOf(state),
    colourBy: model.sides === 2 ? ("diff" as const) : state.colour,
    diffMode: state.diffBy,
    text: flameText,
    title: [facts.title, ...facts.lines].join(" · "),
    rowsLeftOut: (rows: number) => text.out.rowsLeftOut(rows, numbers.count(rows)),
  };
  const content =
    kind === "png"
      ? await drawToPng(model, options)
      : new Blob([drawToSvg(model, options)], { type: "image/svg+xml" });
  saveFile(name, content);
}
