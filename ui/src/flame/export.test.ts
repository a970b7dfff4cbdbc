// The drawing as SVG: the same boxes as on the screen, names as text whatever they hold.

import { describe, expect, test } from "vitest";
import { oddParts } from "../../bench/shapes.ts";
import { partsOf, randomTree } from "../../bench/tree.ts";
import { drawToSvg, type ExportOptions } from "./export.ts";
import { modelFrom, tower } from "./fixtures.ts";
import { decodeFlame } from "./model.ts";
import { flameEn } from "./text.ts";
import { encodeFlame } from "./wire.ts";

const options: ExportOptions = {
  focus: 0,
  matches: null,
  direction: "down",
  order: "size",
  colourBy: "package",
  text: flameEn({
    value: (value) => `${value} ns`,
    share: (share) => `${(share * 100).toFixed(1)} %`,
    count: (count) => `${count}`,
  }),
  title: 'cart <cpu> & "more"',
  rowsLeftOut: (rows) => `${rows} rows left out`,
};

/** Every tag, with its attributes taken off; throws where one is opened and not closed. */
function tags(svg: string): Map<string, number> {
  const counts = new Map<string, number>();
  const open: string[] = [];
  for (const [, closing, name, rest] of svg.matchAll(/<(\/?)([a-zA-Z!?][\w-]*)([^<>]*)>/g)) {
    if (closing) {
      if (open.pop() !== name) throw new Error(`${name} is closed and was not open`);
    } else {
      counts.set(name as string, (counts.get(name as string) ?? 0) + 1);
      if (!rest?.endsWith("/")) open.push(name as string);
    }
  }
  expect(open).toEqual([]);
  return counts;
}

describe("an SVG", () => {
  test("holds names as text only", () => {
    const svg = drawToSvg(decodeFlame(encodeFlame(oddParts())), options);
    expect([...tags(svg).keys()].sort()).toEqual(["defs", "g", "pattern", "rect", "svg", "text", "title"]);
    expect(svg).toContain("&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;");
    expect(svg).toContain("cart &lt;cpu&gt; &amp; &quot;more&quot;");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: XML forbids these
    expect(svg).not.toMatch(/[\u0000-\u0009\u000b-\u001f]|\p{Cs}/u);
    expect(svg).not.toMatch(/https?:\/\/(?!www\.w3\.org\/2000\/svg")/);
  });

  test("has a title with value and share for every box", () => {
    const svg = drawToSvg(modelFrom(["", 0, ["a", 30], ["b", 70]]), options);
    expect(svg).toContain("<title>b · self 70 ns (70.0 %) · total 70 ns (70.0 % of all) · 70.0 % of caller</title>");
    expect(tags(svg).get("title")).toBe(4);
  });

  test("goes as deep as the tree, and says what it leaves out", () => {
    const svg = drawToSvg(tower(4_500), options);
    expect(svg).toContain("501 rows left out");
    expect(
      tags(drawToSvg(decodeFlame(encodeFlame(partsOf(randomTree(5_000)))), options)).get("rect"),
    ).toBeGreaterThan(800);
  });
});
