// A page with the flame graph alone, for the bench and for looking at it: `?tree=100000` shows a made-up tree,
// `?tree=odd` one with names of all kinds, `?tree=diff` a comparison; `theme`, `dir`, `order`, `by`, `lang`, `s` as in
// the real page.

import { render } from "preact";
import { useState } from "preact/hooks";
import {
  type ColourBy,
  decodeFlame,
  encodeFlame,
  type FlameModel,
  FlameView,
  flameEn,
  flameZh,
  parseQuery,
  searchMatches,
} from "../src/flame/index.ts";
import "../src/theme/theme.css";
import { measureAll } from "./figures.ts";
import { diffParts, oddParts } from "./shapes.ts";
import { foldedOf, partsOf, randomTree } from "./tree.ts";

const asked = new URLSearchParams(location.search);
document.documentElement.dataset["theme"] = asked.get("theme") ?? "light";

const numbers = {
  value: (value: bigint) => `${(Number(value) / 1e9).toFixed(2)} s`,
  share: (share: number) => `${(share * 100).toFixed(1)} %`,
  count: (count: number) => count.toLocaleString("en"),
};
const text = asked.get("lang") === "zh" ? flameZh(numbers) : flameEn(numbers);

function Alone({ model }: { readonly model: FlameModel }) {
  const [focus, setFocus] = useState(Number(asked.get("focus") ?? 0));
  const query = parseQuery(asked.get("s") ?? "");
  const matches = query && !("error" in query) ? searchMatches(model, query) : null;
  const [found] = useState(matches);
  return (
    <FlameView
      model={model}
      focus={focus}
      matches={found}
      direction={asked.get("dir") === "up" ? "up" : "down"}
      order={asked.get("order") === "name" ? "name" : "size"}
      colourBy={(asked.get("by") ?? (model.sides === 2 ? "diff" : "package")) as ColourBy}
      text={text}
      theme={document.documentElement.dataset["theme"] ?? ""}
      onFocus={setFocus}
      onAction={(action, node) => {
        document.title = `${action} ${node}`;
      }}
    />
  );
}

const tree = asked.get("tree");
const root = document.getElementById("app");
if (root && tree) {
  const parts = tree === "odd" ? oddParts() : tree === "diff" ? diffParts() : partsOf(randomTree(Number(tree)));
  render(<Alone model={decodeFlame(encodeFlame(parts))} />, root);
}
declare global {
  interface Window {
    measureAll: typeof measureAll;
    foldedTree: (size: number) => string;
  }
}
window.measureAll = measureAll;
window.foldedTree = (size) => foldedOf(randomTree(size));
