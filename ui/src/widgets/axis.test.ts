// Marks of the time axis in nights in which clocks are set (C094), and in zones with odd offsets.

import { describe, expect, test } from "vitest";
import { writeClock } from "../state/zone.ts";
import { markTexts, timeMarks } from "./axis.ts";

const NEW_YORK = "America/New_York";
const at = (text: string) => Date.parse(text);

describe("c094_timezone_and_dst", () => {
  test("every hour of the long night is marked once, the repeated one with its offset", () => {
    const marks = timeMarks(at("2026-11-01T04:00:00Z"), at("2026-11-01T08:00:00Z"), 6, NEW_YORK);
    expect(markTexts(marks, NEW_YORK)).toEqual(["11-01", "01:00 -04:00", "01:00 -05:00", "02:00", "03:00"]);
  });

  test("marks keep to round hours across the short night", () => {
    const marks = timeMarks(at("2026-03-08T03:00:00Z"), at("2026-03-08T15:00:00Z"), 5, NEW_YORK);
    expect(marks.map((mark) => writeClock(mark, NEW_YORK, false))).toEqual(["00:00", "03:00", "06:00", "09:00"]);
  });
});

test("zones with offsets of quarter hours", () => {
  const marks = timeMarks(at("2026-06-01T00:00:00Z"), at("2026-06-01T03:00:00Z"), 4, "Asia/Kathmandu");
  expect(marks.map((mark) => writeClock(mark, "Asia/Kathmandu", false))).toEqual(["06:00", "07:00", "08:00"]);
});
