// Patterns in linear time: they find what the browser's own expressions find, and no pattern makes them slow. Work is
// counted by how often the text is looked at, not by a clock.

import { describe, expect, test } from "vitest";
import { linearPattern } from "./linear.ts";

/** Numbers that are the same on every machine. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

const ATOMS = [
  "a",
  "b",
  "B",
  ".",
  "\\w",
  "\\W",
  "[ab]",
  "[^a]",
  "\\b",
  "\\B",
  "^",
  "$",
  "::",
  "\\.",
  "\\x61",
  "{",
  "]",
  "é",
  "[]",
  "[^]",
];
const REPEATS = ["", "", "", "*", "+", "?", "*?", "{2}", "{0,2}", "{1,}"];

function pattern(random: (below: number) => number, depth: number): string {
  const parts = Array.from({ length: 1 + random(3) }, () => {
    const group = depth > 0 && random(3) === 0;
    const atom = group
      ? `${["(", "(?:", "(?<n>"][random(depth === 2 ? 3 : 2)]}${pattern(random, depth - 1)})`
      : (ATOMS[random(ATOMS.length)] as string);
    const edge = /^(?:\^|\$|\\[bB])$/.test(atom);
    return edge ? atom : atom + REPEATS[random(REPEATS.length)];
  });
  return random(4) === 0 ? parts.join("|") : parts.join("");
}

describe("a pattern in linear time", () => {
  test("finds what the browser finds, in 4,000 patterns and texts made up", () => {
    const random = numbers(7);
    const letters = ["a", "b", "A", "B", ":", ".", " ", "é", "\n", "{", "]"];
    let compared = 0;
    let found = 0;
    while (compared < 4_000) {
      const source = pattern(random, 2);
      const flags = random(2) === 0 ? "" : "i";
      let own: RegExp;
      try {
        own = new RegExp(source, flags);
      } catch {
        continue;
      }
      const linear = linearPattern(source, flags);
      for (let text = 0; text < 4; text++) {
        const name = Array.from({ length: random(7) }, () => letters[random(letters.length)]).join("");
        const wanted = own.test(name);
        if (linear.test(name) !== wanted)
          expect(`/${source}/${flags} on ${JSON.stringify(name)}`).toBe(String(wanted));
        compared++;
        if (wanted) found++;
      }
    }
    expect(found).toBeGreaterThan(800);
    expect(compared - found).toBeGreaterThan(800);
  });

  test("looks at each letter once, whatever could repeat", () => {
    const long = "a".repeat(100_000);
    for (const source of [
      "\\w*\\w*\\w*!",
      "(a*)*x",
      "(a|a)*$x",
      "((a+)+)+b",
      "(a?){30}a{30}!",
      "(.*)(.*)(.*)(.*)9",
    ]) {
      // A browser would need longer for any of them than there is time; here each is one way through the text.
      expect(linearPattern(source, "").test(long)).toBe(false);
      expect(linearPattern(source.replace(/[!xb9]$/, "a"), "i").test(`${long}a`)).toBe(source !== "(a|a)*$x");
    }
  });

  test("forgets what it kept before it is too much, and goes on", () => {
    const linear = linearPattern("(a|b)*a(a|b){14}!", "");
    const random = numbers(3);
    const text = Array.from({ length: 60_000 }, () => "ab"[random(2)]).join("");
    expect(linear.test(text)).toBe(false);
    expect(linear.test(`${text}a${"b".repeat(14)}!`)).toBe(true);
  });

  test("refuses what it cannot do, and what the browser refuses", () => {
    for (const source of ["(a)\\1", "(?=a)", "(?<!a)b", "(?<n>a)\\k<n>", "a\\07"])
      expect(() => linearPattern(source, ""), source).toThrow("is not supported");
    for (const source of ["(", "a**", "[b-a]"]) expect(() => linearPattern(source, ""), source).toThrow(SyntaxError);
    expect(() => linearPattern("(a{1000}){1000}", "")).toThrow("counts too far");
    expect(linearPattern("[\\1](?<n>a)", "").test("\u0001a")).toBe(true);
  });
});
