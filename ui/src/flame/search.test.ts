// Search: what is found, what share it is, and the way from match to match.

import { describe, expect, test } from "vitest";
import { type Given, modelFrom } from "./fixtures.ts";
import { layOut } from "./layout.ts";
import { nameOf } from "./model.ts";
import { matchesBefore, nextMatch, parseQuery, searchMatches } from "./search.ts";
import type { FlameModel, Matches } from "./types.ts";

const TREE: Given = [
  "",
  10,
  ["main|app|main.go", 0, ["Decode|enc/json|json.go", 20, ["helper|app|x.go", 5, ["decode|enc/json|json.go", 15]]]],
  ["runtime.gc|runtime|gc.go", 50],
];
const model = modelFrom(TREE);

function found(text: string, of: FlameModel = model): Matches {
  const query = parseQuery(text);
  if (!query || "error" in query) throw new Error(`${text} is no query`);
  return searchMatches(of, query);
}
const names = (text: string) => Array.from(found(text).nodes, (node) => nameOf(model, node));

describe("a search", () => {
  test("finds a part of the name whatever its case", () => {
    expect(names("decode")).toEqual(["Decode", "decode"]);
    expect(names("DECODE")).toEqual(["Decode", "decode"]);
    expect(names(".gc")).toEqual(["runtime.gc"]);
    expect(names("dcd")).toEqual([]);
  });

  test("never finds more when more is typed", () => {
    let before = names("d");
    for (const text of ["de", "dec", "deco", "decod", "decode"]) {
      const now = names(text);
      expect(before).toEqual(expect.arrayContaining(now));
      before = now;
    }
  });

  test("takes expressions between slashes, as they are written", () => {
    expect(names("/^Dec/")).toEqual(["Decode"]);
    expect(names("/^dec/i")).toEqual(["Decode", "decode"]);
    expect(names("/gc$|main/")).toEqual(["main", "runtime.gc"]);
    expect(parseQuery("/(/")).toHaveProperty("error");
    for (const refused of ["/(a)\\1/", "/(?=a)b/", "/(a{1000}){1000}/"])
      expect(parseQuery(refused)).toHaveProperty("error");
    expect(names("/(\\w*)*gc/")).toEqual(["runtime.gc"]);
    for (const plain of ["/(a|b)c*/", "/(ab)+/", "/(a+)b/", "/[(a+)*]+/", "/\\(a+\\)*/", "/(a*)?/", "/x{2}(y)/"])
      expect(parseQuery(plain)).not.toHaveProperty("error");
    expect(names("/")).toEqual([]);
  });

  test("looks in files and packages", () => {
    expect(names("file:json.go")).toEqual(["Decode", "decode"]);
    expect(names("pkg:app")).toEqual(["main", "helper"]);
    expect(names("pkg:/^enc/")).toEqual(["Decode", "decode"]);
    expect(parseQuery("pkg:")).toBeNull();
    expect(parseQuery("   ")).toBeNull();
  });

  test("counts each stack once", () => {
    const matches = found("decode");
    expect(matches.totals).toEqual([40n]);
    expect(matches.shares).toEqual([0.4]);
    expect(found("/./").shares).toEqual([0.9]);
  });

  test("counts both sides of a comparison, and beyond what doubles can", () => {
    const diff = modelFrom(["", [0, 0], ["a", [1, 4]], ["b", [1, 12]]]);
    expect(found("b", diff).shares).toEqual([0.5, 0.75]);
    const huge = 9_007_199_254_740_993n;
    expect(found("a", modelFrom(["", 0, ["a", huge], ["b", 1], ["a", huge + 2n]])).totals).toEqual([2n * huge + 2n]);
  });

  test("goes to the next match and round the end", () => {
    const matches = found("decode");
    const [first, second] = matches.nodes;
    expect(nextMatch(matches, 0, 1)).toBe(first);
    expect(nextMatch(matches, first as number, 1)).toBe(second);
    expect(nextMatch(matches, second as number, 1)).toBe(first);
    expect(nextMatch(matches, first as number, -1)).toBe(second);
    expect(nextMatch(matches, second as number, -1)).toBe(first);
    expect(nextMatch(found("nothing"), 0, 1)).toBeNull();
  });

  test("knows which grey blocks hold a match", () => {
    for (const order of ["size", "name"] as const) {
      const layout = layOut(model, { order });
      const before = matchesBefore(model, layout, found("decode"));
      const holds = (node: number) => {
        const at = layout.position[node] as number;
        return (before[at + 1] as number) - (before[at] as number);
      };
      expect(Array.from({ length: model.size }, (_, node) => holds(node))).toEqual([1, 1, 1, 1, 1, 0]);
    }
  });
});
