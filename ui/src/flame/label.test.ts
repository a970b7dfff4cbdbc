// Labels: nothing sticks out, nothing ends inside a character, nothing hides or turns other text round.

import { describe, expect, test } from "vitest";
import { ODD_NAMES } from "../../bench/shapes.ts";
import { randomTree } from "../../bench/tree.ts";
import { fitted, labelOf, type TextMeasure, visible } from "./label.ts";

/** A font in which a Latin cell is 7 pixels, everything beyond twice as wide, and marks have no width. */
const CELL = 7;
const widthOf = (text: string) => {
  let width = 0;
  for (const character of text) {
    if (/\p{Cf}|\p{M}/u.test(character)) continue;
    width += character === "…" || (character.codePointAt(0) ?? 0) < 0x250 ? CELL : CELL * 2;
  }
  return width;
};

function counting(): TextMeasure & { longest: number; calls: number } {
  const measure = {
    cell: CELL,
    ellipsis: CELL,
    longest: 0,
    calls: 0,
    width: (text: string) => {
      measure.calls++;
      measure.longest = Math.max(measure.longest, text.length);
      return widthOf(text);
    },
  };
  return measure;
}

describe("a label", () => {
  const names = [...ODD_NAMES, ...randomTree(500).names];
  test("never sticks out of its box, at any width", () => {
    const measure = counting();
    const out: string[] = [];
    for (const name of names) {
      const label = labelOf(name, "(no name)");
      for (let width = 0; width < 600; width += 3) {
        const text = fitted(label, width, measure);
        if (text !== "" && widthOf(text) > width) out.push(`${width}: ${text}`);
      }
    }
    expect(out).toEqual([]);
  });

  test("ends at a whole character as a reader sees it", () => {
    const measure = counting();
    const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
    for (const name of [
      "👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧 family",
      "e\u0301e\u0301e\u0301e\u0301 accents",
      "नमस्ते दुनिया",
      "🇨🇳🇩🇪🇫🇷🇧🇷",
    ]) {
      const whole = new Set([0]);
      for (const { index, segment } of segmenter.segment(name)) whole.add(index + segment.length);
      for (let width = 0; width < 260; width++) {
        const text = fitted(labelOf(name, ""), width, measure).replace(/[\u2068\u2069…]/g, "");
        expect(name.startsWith(text) && whole.has(text.length), `${width}: ${text}`).toBe(true);
      }
    }
  });

  test("of ASCII is fitted by counting: nothing is measured", () => {
    const measure = counting();
    for (const name of ["main.run", "x".repeat(10_240), "std::collections::HashMap<K, V>::insert"]) {
      for (let width = 10; width < 2_000; width += 10) fitted(labelOf(name, ""), width, measure);
    }
    // A long name was cut and so has an ellipsis; it alone is measured.
    expect(measure.longest).toBeLessThan(520);
  });

  test("of 10 kB is cut before it is measured", () => {
    const measure = counting();
    fitted(labelOf("长".repeat(10_240), ""), 300, measure);
    expect(measure.longest).toBeLessThan(300);
    expect(measure.calls).toBeLessThan(20);
  });

  test("keeps the end of a qualified name, which says most", () => {
    const measure = counting();
    const at = (name: string, cells: number) => fitted(labelOf(name, ""), cells * CELL, measure);
    expect(at("net/http.(*conn).serve", 22)).toBe("net/http.(*conn).serve");
    expect(at("net/http.(*conn).serve", 18)).toBe("http.(*conn).serve");
    expect(at("net/http.(*conn).serve", 14)).toBe("(*conn).serve");
    expect(at("alloc::vec::Vec<T, A>::push", 19)).toBe("Vec<T, A>::push");
    expect(at("alloc::vec::Vec<std::string::String>::push_all", 6)).toBe("push_…");
    expect(at("java.util.HashMap.put", 11)).toBe("HashMap.put");
    expect(at("libc.so.6", 8)).toBe("so.6");
    expect(at("do_syscall_64", 8)).toBe("do_sysc…");
    expect(at("do_syscall_64", 3)).toBe("");
  });

  test("isolates text of either direction", () => {
    const text = fitted(labelOf("שלום::עולם", ""), 500, counting());
    expect(text.startsWith("\u2068") && text.endsWith("\u2069")).toBe(true);
  });
});

describe("what would hide or change other text is made visible", () => {
  test.each([
    ["a\u0000b\u001b[31m", "a^@b^[[31m"],
    ["line\nnext\ttab\u007f", "line^Jnext^Itab^?"],
    ["right\u202eleft\u202c", "right<U+202E>left<U+202C>"],
    ["zero\u200bwidth\ufeff", "zero<U+200B>width<U+FEFF>"],
    ["half \ud800 pair", "half \ufffd pair"],
    ["c1 \u0085", "c1 <U+0085>"],
    ["  ", '"  "'],
    ["👨‍👩‍👧 می‌خواهم 处理", "👨‍👩‍👧 می‌خواهم 处理"],
    ["<b onclick=1>&amp;", "<b onclick=1>&amp;"],
  ])("%j", (name, shown) => {
    expect(visible(name)).toBe(shown);
  });

  test("a name that is empty has a word", () => {
    expect(labelOf("", "(no name)").text).toBe("(no name)");
  });
});
