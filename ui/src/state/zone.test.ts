// c094: nights in which a clock is set. In New York 01:30 on 2026-11-01 comes twice, 02:30 on 2026-03-08 never; UTC and
// local can be switched, the repeated hour stays distinct, and links carry absolute instants.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readLens, readTime, resolveWindow, writeLens, writeTime } from "./time.ts";
import {
  clockAt,
  instantsOf,
  isZone,
  offsetAt,
  readInstant,
  withDay,
  writeClock,
  writeInstant,
  zoneTag,
} from "./zone.ts";

const NEW_YORK = "America/New_York";
const FIRST = Date.parse("2026-11-01T05:30:00Z");
const SECOND = Date.parse("2026-11-01T06:30:00Z");
const HOUR = 3_600_000;

const before = process.env["TZ"];
beforeAll(() => {
  process.env["TZ"] = NEW_YORK;
});
afterAll(() => {
  if (before === undefined) delete process.env["TZ"];
  else process.env["TZ"] = before;
});

describe.each([NEW_YORK, "local"])("c094_timezone_and_dst: a browser in New York, shown in %s", (zone) => {
  test("the hour that comes twice is told apart", () => {
    expect([FIRST, SECOND].map((instant) => clockAt(instant, zone).hour)).toEqual([1, 1]);
    expect([FIRST, SECOND].map((instant) => writeInstant(instant, zone))).toEqual([
      "2026-11-01 01:30:00 -04:00",
      "2026-11-01 01:30:00 -05:00",
    ]);
    expect(writeClock(FIRST, zone, false)).not.toBe(writeClock(SECOND, zone, false));
    expect(instantsOf(clockAt(FIRST, zone), zone)).toEqual([FIRST, SECOND]);
  });

  test("what is written is read back as the same instant, every quarter of an hour of both nights", () => {
    for (const night of ["2026-11-01T00:00:00Z", "2026-03-08T00:00:00Z"]) {
      for (let instant = Date.parse(night); instant < Date.parse(night) + 24 * HOUR; instant += HOUR / 4) {
        const read = readInstant(writeInstant(instant, zone), zone);
        expect(read, writeInstant(instant, zone)).toMatchObject({ ok: true, instant });
      }
    }
  });

  test("a time that comes twice is read as the first, and said", () => {
    expect(readInstant("2026-11-01 01:30", zone)).toEqual({ ok: true, instant: FIRST, note: "twice" });
    expect(readInstant("2026-11-01 01:30 -05:00", zone)).toEqual({ ok: true, instant: SECOND, note: null });
  });

  test("a time that never comes is moved ahead with the clock, and said", () => {
    const never = readInstant("2026-03-08 02:30", zone);
    expect(never).toEqual({ ok: true, instant: Date.parse("2026-03-08T07:30:00Z"), note: "never" });
    expect(instantsOf({ year: 2026, month: 3, day: 8, hour: 2, minute: 30, second: 0 }, zone)).toEqual([]);
    expect(writeInstant(Date.parse("2026-03-08T07:30:00Z"), zone)).toBe("2026-03-08 03:30:00");
  });

  test("the clock is as far from UTC as that day has it", () => {
    const hours = (text: string) => offsetAt(Date.parse(text), zone) / HOUR;
    expect(["2026-03-08T06:59:59Z", "2026-03-08T07:00:00Z"].map(hours)).toEqual([-5, -4]);
    expect(["2026-11-01T05:59:59Z", "2026-11-01T06:00:00Z"].map(hours)).toEqual([-4, -5]);
  });
});

describe("c094_timezone_and_dst: links", () => {
  test("carry instants that mean the same in every zone", () => {
    for (const instant of [FIRST, SECOND]) {
      expect(readTime(writeTime(instant), 0)).toBe(instant);
      expect(writeTime(instant)).toMatch(/Z$/);
    }
    const lens = { from: FIRST, to: SECOND };
    expect(readLens(writeLens(lens))).toEqual(lens);
    expect(resolveWindow(writeTime(FIRST), writeTime(SECOND), 0)).toEqual(lens);
  });

  test("written in UTC nothing comes twice", () => {
    expect([FIRST, SECOND].map((instant) => writeInstant(instant, "UTC"))).toEqual([
      "2026-11-01 05:30:00",
      "2026-11-01 06:30:00",
    ]);
    expect(readInstant("2026-03-08 02:30", "UTC")).toMatchObject({ note: null });
  });

  test("name zones that exist, and times that do", () => {
    expect([NEW_YORK, "UTC", "local", "Mars/Olympus", ""].map(isZone)).toEqual([true, true, true, false, false]);
    for (const text of ["2026-02-30 01:00", "2026-13-01", "2026-11-01 25:00", "tomorrow"]) {
      expect(readInstant(text, NEW_YORK)).toEqual({ ok: false });
    }
  });
});

describe("short ways to write a time", () => {
  const now = Date.parse("2026-11-30T20:00:00Z");
  const shown = Date.parse("2026-11-29T12:00:00Z");
  test.each([
    ["14:00", "2026-11-29 14:00"],
    ["yesterday", "2026-11-30 00:00"],
    ["Today 9:05", "2026-12-01 9:05"],
    ["昨天 14:00:30", "2026-11-30 14:00:30"],
    ["", ""],
    ["noon", "noon"],
    ["now-1h", "now-1h"],
  ])("%s", (text, meant) => {
    // In Kolkata it is already the next day.
    expect(withDay(text, "Asia/Kolkata", shown, now)).toBe(meant);
  });

  test("the clock is named", () => {
    expect(["UTC", "Asia/Kolkata", "Europe/London"].map((zone) => zoneTag(now, zone))).toEqual([
      "UTC",
      "+05:30",
      "UTC",
    ]);
  });
});
