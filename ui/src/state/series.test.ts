// Points along time: steps that are really one, rates, states, extents; and rows of services and functions made of answers.

import { describe, expect, test } from "vitest";
import type { Timeline, Top } from "../data/types.ts";
import { decodeFlame, encodeFlame } from "../flame/index.ts";
import { entriesFrom, entriesOf, matching, sorted } from "./functions.ts";
import { readType } from "./profile-type.ts";
import { aligned, chartOf, coverage, extentOf, stepFor } from "./series.ts";
import { serviceRows } from "./service-rows.ts";

const STATS: Timeline["stats"] = {
  from: "",
  to: "",
  profiles: 1,
  samples: 1,
  series: 1,
  rounds: 1,
  bytes_scanned: 0,
  cut_nodes: 0,
  cut_value: 0,
  unsymbolised_value: 0,
  aggregation: "sum",
  profile_type: "",
  notices: [],
};

function timeline(points: [number, number][], aggregation = "sum"): Timeline {
  return {
    unit: "nanoseconds",
    start: "2026-11-29T03:00:00Z",
    step_ms: 15_000,
    steps: 16,
    rate_divisor: 15e9,
    series: [{ labels: { service_name: "a" }, points, total: points.reduce((sum, point) => sum + point[1], 0) }],
    stats: { ...STATS, aggregation },
  };
}

describe("charts", () => {
  test("a push each minute is one step a minute, and one core is one core", () => {
    const chart = chartOf(timeline([0, 4, 8, 12].map((at) => [at, 60e9])));
    expect(chart.step_ms).toBe(60_000);
    expect(chart.lines[0]?.values).toEqual([1, 1, 1, 1]);
  });

  test("a push each step keeps its steps, and a step without one is a gap", () => {
    const chart = chartOf(timeline([0, 1, 2, 5].map((at) => [at, 30e9])));
    expect(chart.step_ms).toBe(15_000);
    expect(chart.lines[0]?.values.slice(0, 6)).toEqual([2, 2, 2, null, null, 2]);
  });

  test("a state is averaged over what was seen, never divided by time", () => {
    const chart = chartOf(
      timeline(
        [0, 4, 8, 12].map((at) => [at, 1000 + at]),
        "avg",
      ),
    );
    expect(chart.perSecond).toBe(false);
    expect(chart.lines[0]?.values).toEqual([1000, 1004, 1008, 1012]);
  });

  test("peak and mean are of the part that is looked at", () => {
    const chart = chartOf(timeline([0, 1, 2, 3].map((at) => [at, (at + 1) * 15e9])));
    const line = chart.lines[0];
    const part = { from: chart.start + 15_000, to: chart.start + 45_000 };
    expect(line && extentOf(chart, line, part)).toEqual({ peak: 3, peakAt: chart.start + 30_000, mean: 2.5 });
    expect(line && extentOf(chart, line, { from: 0, to: 1 })).toBeNull();
  });

  test("steps are round, at most 240, and stay where they are when a range moves on", () => {
    for (const span of [60_000, 3_600_000, 86_400_000, 2_592_000_000, 315_360_000_000]) {
      const step = stepFor({ from: 0, to: span });
      expect(span / step).toBeLessThanOrEqual(240);
      expect(aligned({ from: step * 3 + 7, to: step * 9 + 7 }, step)).toEqual({ from: step * 3, to: step * 10 });
    }
  });
});

test("services: those without a profile come last, and nothing before is no news", () => {
  const chart = chartOf(timeline([0, 1, 2, 3].map((at) => [at, 15e9])));
  const services = ["b", "a"].map((name) => ({
    name,
    types: ["p:cpu:nanoseconds:c:n"],
    profiles: 1,
    last: "2026-11-29T03:00:00Z",
  }));
  const type = readType("p:cpu:nanoseconds:c:n");
  const rows = serviceRows(services, type, chart, { ...chart, lines: [] }, "", { column: "usage", descending: true });
  expect(rows.map((row) => [row.name, row.usage, row.change])).toEqual([
    ["a", 0.25, null],
    ["b", null, null],
  ]);
});

test("services: one whose sum is beyond 64 bits says so, and its neighbours are as they were", () => {
  const reply = timeline([0, 1, 2, 3].map((at) => [at, 15e9]));
  const chart = chartOf({ ...reply, overflowing: [{ labels: { service_name: "huge" } }] });
  const services = ["a", "huge", "none"].map((name) => ({
    name,
    types: ["p:cpu:nanoseconds:c:n"],
    profiles: 1,
    last: "2026-11-29T03:00:00Z",
  }));
  const type = readType("p:cpu:nanoseconds:c:n");
  const rows = serviceRows(services, type, chart, chart, "", { column: "usage", descending: true });
  expect(rows.map((row) => [row.name, row.usage, row.tooLarge, row.change])).toEqual([
    ["huge", null, true, null],
    ["a", 0.25, false, 0],
    ["none", null, false, null],
  ]);
});

describe("coverage", () => {
  const chart = chartOf(timeline([4, 5, 6, 7, 8, 9, 10, 11].map((at) => [at, 1e9])));
  const window = (from: number, to: number) => ({ from: chart.start + from * 15_000, to: chart.start + to * 15_000 });

  test("a baseline that begins before the first profile is covered in part", () => {
    expect(coverage(chart, window(0, 8))).toBe(0.5);
    expect(coverage(chart, window(4, 12))).toBe(1);
    expect(coverage(chart, window(12, 16))).toBe(0);
  });

  test("one step at an edge may still be on its way", () => {
    expect(coverage(chart, window(4, 13))).toBe(1);
    expect(coverage(chart, window(4, 14))).toBe(0.8);
  });
});

describe("functions", () => {
  const model = decodeFlame(
    encodeFlame({
      meta: { unit: "nanoseconds", sample_type: "cpu", totals: ["30", "40"] },
      strings: ["", "main", "work", "gone", "pkg"],
      frames: [{ name: 0 }, { name: 1, package: 4 }, { name: 2, package: 4 }, { name: 3 }],
      depth: [0, 1, 2, 2],
      frame: [0, 1, 2, 3],
      total: [
        [30n, 30n, 10n, 20n],
        [40n, 40n, 40n, 0n],
      ],
      self: [
        [0n, 0n, 10n, 20n],
        [0n, 0n, 40n, 0n],
      ],
    }),
  );

  test("from the tree and from the server's tables they are the same", () => {
    const side = (at: 0 | 1): Top => ({
      unit: "nanoseconds",
      total: 0,
      rows: entriesOf(model).map((one) => ({
        name: one.name,
        file: one.file,
        self: one.self[at] ?? 0n,
        total: one.total[at] ?? 0n,
      })),
      rows_total: 3,
      stats: STATS,
    });
    const plain = (entries: ReturnType<typeof entriesOf>) =>
      entries
        .map(({ name, self, total, package: from }) => ({ name, self, total, from }))
        .sort((a, b) => (a.name < b.name ? -1 : 1));
    expect(plain(entriesFrom([side(0), side(1)], model))).toEqual(plain(entriesOf(model)));
  });

  test("a comparison is sorted by how much a row changed, either way", () => {
    const names = (mode: "absolute" | "share") =>
      sorted(entriesOf(model), "change", true, "self", [30n, 40n], mode).map((one) => one.name);
    expect(names("absolute")).toEqual(["work", "gone", "main"]);
    expect(names("share")).toEqual(["work", "gone", "main"]);
  });

  test("a search looks where it was told to", () => {
    const found = (field: "name" | "package", pattern: string) =>
      matching(entriesOf(model), { field, pattern, text: pattern }).map((one) => one.name);
    expect(found("name", "o")).toEqual(["work", "gone"]);
    expect(found("package", "pkg").sort()).toEqual(["main", "work"]);
  });
});
