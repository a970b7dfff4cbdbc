// Where the nearest profile lies when a range has none: the last one before it, and the first one after it as near as a
// timeline tells.

import * as api from "../data/api.ts";
import { stepFor } from "./series.ts";
import type { Window } from "./time.ts";

export interface Nearest {
  readonly before: number | null;
  readonly after: number | null;
}

/** Two looks along the time after the range: the second within the first full step of the first. */
async function firstAfter(selection: api.Selection, window: Window, signal: AbortSignal): Promise<number | null> {
  let range = window;
  let found: number | null = null;
  for (let look = 0; look < 2; look += 1) {
    if (range.to - range.from < 1000) return found;
    const step_ms = stepFor(range);
    const { data } = await api.timeline({ ...selection, window: range }, step_ms, null, signal);
    const first = Math.min(...data.series.map((line) => line.points[0]?.[0] ?? Number.POSITIVE_INFINITY));
    if (!Number.isFinite(first)) return found;
    found = Math.max(range.from, Date.parse(data.start) + first * data.step_ms);
    range = { from: found, to: Math.min(range.to, found + data.step_ms) };
  }
  return found;
}

export async function nearest(selection: api.Selection, now: number, signal: AbortSignal): Promise<Nearest> {
  const { from, to } = selection.window;
  const earlier = from > 0 ? api.newestProfile({ ...selection, window: { from: 0, to: from } }, signal) : null;
  const later = now > to ? firstAfter(selection, { from: to, to: now }, signal) : null;
  const [before, after] = await Promise.all([earlier, later]);
  return { before, after };
}

/** A window of the same length with an instant well inside. */
export function around(instant: number, window: Window): Window {
  const span = window.to - window.from;
  const minute = 60_000;
  const to = Math.ceil((instant + span / 2) / minute) * minute;
  return { from: to - span, to };
}
