// Both languages have the same keys, of the same kind, and nothing is left untranslated by accident.

import { describe, expect, test } from "vitest";
import { en } from "./en.ts";
import { zh } from "./zh.ts";

function shape(value: unknown, path = ""): string[] {
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([key, inner]) => shape(inner, path ? `${path}.${key}` : key));
  }
  return [`${path}: ${typeof value}${typeof value === "function" ? `/${value.length}` : ""}`];
}

describe("words", () => {
  test("English and Chinese have the same keys of the same kind", () => {
    expect(shape(zh)).toEqual(shape(en));
  });
});
