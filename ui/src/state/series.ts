// Points along time as the server sends them, made ready to be drawn: which step to ask for, which steps are really one
// (a service that pushes every minute has three empty steps of 15 s after each full one), peaks and means.

import type { Labels, Timeline } from "../data/types.ts";
import type { Window } from "./time.ts";

const SECOND = 1000;
const STEPS_MS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
].map((seconds) => seconds * SECOND);
const POINTS_WANTED = 240;

/** The shortest round step that cuts a window into at most about 240. */
export function stepFor(window: Window): number {
  const span = window.to - window.from;
  return (
    STEPS_MS.find((step) => span / step <= POINTS_WANTED) ??
    Math.ceil(span / POINTS_WANTED / 604_800_000) * 604_800_000
  );
}

/** The window moved out to whole steps, so that a picture that is asked again keeps its steps. */
export function aligned(window: Window, step_ms: number): Window {
  return { from: Math.floor(window.from / step_ms) * step_ms, to: Math.ceil(window.to / step_ms) * step_ms };
}

export interface Line {
  readonly labels: Labels;
  /** One per step, per second where the type is an amount; null = no profile. */
  readonly values: readonly (number | null)[];
  readonly total: number;
}

export interface Chart {
  readonly unit: string;
  readonly start: number;
  readonly step_ms: number;
  readonly steps: number;
  /** Whether values are per second (amounts) or states as they were. */
  readonly perSecond: boolean;
  readonly lines: readonly Line[];
  /** Labels of groups whose values do not fit in 64 bits; they have no line. */
  readonly tooLarge: readonly Labels[];
}

/** How many steps lie between two full ones, usually: the middle of all gaps of a line. */
function usualGap(points: readonly (readonly [number, unknown])[]): number {
  const gaps = points.slice(1).map((point, at) => point[0] - (points[at]?.[0] ?? 0));
  gaps.sort((a, b) => a - b);
  return gaps.length < 3 ? 1 : (gaps[Math.floor(gaps.length / 2)] ?? 1);
}

const JOINED_MAX = 20;

export function chartOf(reply: Timeline): Chart {
  const perSecond = reply.stats.aggregation === "sum";
  const joined = Math.min(JOINED_MAX, Math.max(1, ...reply.series.map((one) => usualGap(one.points))));
  const steps = Math.ceil(reply.steps / joined);
  const lines = reply.series.map((one): Line => {
    const sums = new Float64Array(steps);
    const full = new Uint32Array(steps);
    for (const [step, value] of one.points) {
      const at = Math.floor(step / joined);
      sums[at] = (sums[at] ?? 0) + Number(value);
      full[at] = (full[at] ?? 0) + 1;
    }
    const values = Array.from(sums, (sum, at) => {
      const count = full[at] ?? 0;
      if (count === 0) return null;
      return perSecond ? sum / (reply.rate_divisor * joined) : sum / count;
    });
    return { labels: one.labels, values, total: Number(one.total) };
  });
  return {
    unit: reply.unit,
    start: Date.parse(reply.start),
    step_ms: reply.step_ms * joined,
    steps,
    perSecond,
    lines: [...lines].sort((a, b) => b.total - a.total),
    tooLarge: reply.overflowing?.map((one) => one.labels) ?? [],
  };
}

export interface Extent {
  readonly peak: number;
  readonly peakAt: number;
  readonly mean: number;
}

/** Peak and mean of a line inside a window; null where it has no value there. */
export function extentOf(chart: Chart, line: Line, window: Window): Extent | null {
  let peak = Number.NEGATIVE_INFINITY;
  let peakAt = 0;
  let sum = 0;
  let count = 0;
  line.values.forEach((value, at) => {
    const from = chart.start + at * chart.step_ms;
    if (value === null || from >= window.to || from + chart.step_ms <= window.from) return;
    sum += value;
    count += 1;
    if (value > peak) {
      peak = value;
      peakAt = from;
    }
  });
  return count === 0 ? null : { peak, peakAt, mean: sum / count };
}

/** The sum of lines, for peaks and means of the whole. */
export function sumOf(chart: Chart): Line | null {
  const [first] = chart.lines;
  if (!first) return null;
  if (chart.lines.length === 1) return first;
  const values = first.values.map((_, at) => {
    const seen = chart.lines
      .map((line) => line.values[at] ?? null)
      .filter((value): value is number => value !== null);
    return seen.length === 0 ? null : seen.reduce((sum, value) => sum + value, 0);
  });
  return { labels: {}, values, total: chart.lines.reduce((sum, line) => sum + line.total, 0) };
}

/** The share of a window's steps that have a profile of any line; one step at an edge may still be on its way. */
export function coverage(chart: Chart, window: Window): number {
  let steps = 0;
  let full = 0;
  for (let at = 0; at < chart.steps; at += 1) {
    const from = chart.start + at * chart.step_ms;
    if (from < window.from || from + chart.step_ms > window.to) continue;
    steps += 1;
    if (chart.lines.some((line) => (line.values[at] ?? null) !== null)) full += 1;
  }
  return steps === 0 || full >= steps - 1 ? 1 : full / steps;
}
