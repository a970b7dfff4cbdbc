// One HTML file with a whole tree in it: data, words, and a small script to look at them, for mails and tickets. It needs
// no server and asks nobody; its policy forbids it. Places, colours and words of a change are those of the screen.

import {
  changeOf,
  DARK,
  type DiffMode,
  diffStep,
  type FlameModel,
  type FlameText,
  LIGHT,
  layOut,
  type Order,
  type Palette,
  packageSlots,
  strengthOf,
  timesText,
  totalsOf,
} from "../flame/index.ts";
import { visible } from "../flame/label.ts";
import type { Text } from "../i18n/en.ts";
import type { Numbers } from "../state/format.ts";
import script from "./viewer.js?raw";

const STYLE = `:root{color-scheme:light dark;font:13px/1.5 system-ui,sans-serif}body{margin:16px}h1{font-size:18px;margin:0}
p{margin:4px 0}#picture{position:relative;overflow:hidden;margin:8px 0}
.box{position:absolute;height:19px;border:0;padding:0 3px;overflow:hidden;white-space:nowrap;text-overflow:ellipsis;
text-align:left;cursor:pointer;font:12px/19px ui-monospace,monospace;border-radius:1px;background:var(--l);color:${LIGHT.ink}}
.box:focus-visible{outline:2px solid #1f5fbf;z-index:1}.match{background:#b3007d;color:#fff}
#line{position:sticky;bottom:0;background:Canvas;padding:4px 0}input{font:inherit;padding:3px 8px;width:260px}
@media(prefers-color-scheme:dark){.box{background:var(--d);color:${DARK.ink}}.match{background:#b3007d;color:#fff}}`;

/** Text for HTML; also right inside an attribute. */
function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** JSON that may stand in a script element: no name can end it. */
function inert(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll("<", "\\u003c")
    .replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");
}

export interface PageFacts {
  readonly title: string;
  /** What was asked and of how much: one line each. */
  readonly lines: readonly string[];
  readonly language: string;
}

export interface PageLook {
  readonly order: Order;
  readonly diffMode: DiffMode;
  readonly flameText: FlameText;
}

/** Which colour each node has, and the colours: of packages, or of a comparison. */
function coloursOf(model: FlameModel, diffMode: DiffMode): { fill: number[]; colours: [string, string][] } {
  const slots = packageSlots(model);
  const [left, right] = totalsOf(model);
  const totals = [Number(left), Number(right)] as const;
  const list = (palette: Palette) =>
    model.sides === 2 ? palette.diffs : [...palette.ring, palette.kernel, palette.neutral, palette.rest];
  const dark = list(DARK);
  return {
    fill: Array.from(model.frame, (frame, node) =>
      model.sides === 2 ? diffStep(strengthOf(model, node, totals, diffMode)) : (slots[frame] ?? 0),
    ),
    colours: list(LIGHT).map((light, at) => [light, dark[at] ?? light]),
  };
}

export function pageOf(model: FlameModel, facts: PageFacts, text: Text, numbers: Numbers, look: PageLook): string {
  const side = model.sides - 1;
  const { frames, strings } = model;
  const { diffMode, flameText } = look;
  const layout = layOut(model, look);
  const all = Array.from({ length: model.size }, (_, node) => node);
  const column = (columns: FlameModel["total"]) => all.map((node) => columns[side]?.exact[node] ?? 0n);
  const placed = (column: Float64Array) =>
    all.map((node) => Number((column[layout.position[node] ?? 0] ?? 0).toPrecision(9)));
  const totals = column(model.total);
  const change = (node: number) => {
    const { word, times } = changeOf(model, node, diffMode);
    return word === "more" || word === "less" ? flameText.change[word](timesText(times)) : flameText.change[word];
  };
  const data = {
    names: Array.from({ length: frames.size }, (_, frame) => visible(strings[frames.name[frame] ?? 0] ?? "")),
    ...coloursOf(model, diffMode),
    left: placed(layout.left),
    width: placed(layout.width),
    note: side === 0 ? [] : all.map(change),
    depth: Array.from(model.depth),
    name: Array.from(model.frame),
    total: totals.map(Number),
    self: column(model.self).map(Number),
    shown: totals.map((value, node) => {
      const now = numbers.value(value, model.meta.unit);
      return side === 0 ? now : `${numbers.value(model.total[0]?.exact[node] ?? 0n, model.meta.unit)} → ${now}`;
    }),
    words: { total: text.table.total, self: text.table.self },
  };
  return `<!doctype html>
<html lang="${facts.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>${escaped(facts.title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escaped(facts.title)}</h1>
${facts.lines.map((line) => `<p>${escaped(line)}</p>`).join("\n")}
<p><input id="search" type="search" aria-label="${escaped(text.view.search)}" placeholder="${escaped(text.view.search)}"> <b id="found" role="status"></b></p>
<div id="picture"></div>
<p id="line"></p>
<script type="application/json" id="data">${inert(data)}</script>
<script>${script.replaceAll("</", "<\\/")}</script>
</body>
</html>
`;
}
