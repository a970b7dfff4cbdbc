// The questions that the page asks, one function each: typed in, typed out, cancelled by a signal.

import type { Window } from "../state/time.ts";
import { type Answer, getBytes, getJson, type Query } from "./http.ts";
import type { Callers, Explain, SeriesList, Services, Timeline, Top } from "./types.ts";

/** Which profiles: matchers without a type, the type beside them, and the range. */
export interface Selection {
  readonly q: string;
  readonly type: string | null;
  readonly window: Window;
}

export const FLAME_TYPE = "application/vnd.everflame.flame";
/** Most nodes that the page asks for; a whole tree lets table, callers and search stay in the page. */
const NODES_MAX = 200_000;

export function selectionQuery(selection: Selection): Query {
  return { q: selection.q, type: selection.type, from: selection.window.from, to: selection.window.to };
}

export function services(window: Window, signal: AbortSignal): Promise<Answer<Services>> {
  return getJson("api/v1/services", { from: window.from, to: window.to }, signal);
}

export function series(selection: Selection, signal: AbortSignal): Promise<Answer<SeriesList>> {
  return getJson("api/v1/series", selectionQuery(selection), signal);
}

export function timeline(
  selection: Selection,
  step_ms: number,
  by: string | null,
  signal: AbortSignal,
): Promise<Answer<Timeline>> {
  return getJson("api/v1/timeline", { ...selectionQuery(selection), step: `${step_ms}ms`, by }, signal);
}

export function top(selection: Selection, limit: number, signal: AbortSignal): Promise<Answer<Top>> {
  return getJson("api/v1/top", { ...selectionQuery(selection), limit }, signal);
}

export function callers(selection: Selection, name: string, signal: AbortSignal): Promise<Answer<Callers>> {
  return getJson("api/v1/callers", { ...selectionQuery(selection), function: name }, signal);
}

/** When the newest profile of a selection was taken; null = there is none. */
export async function newestProfile(selection: Selection, signal: AbortSignal): Promise<number | null> {
  type List = { readonly profiles: readonly { readonly time: string }[] };
  const { data } = await getJson<List>("api/v1/profiles", { ...selectionQuery(selection), limit: 1 }, signal);
  const newest = data.profiles[data.profiles.length - 1];
  return newest ? Date.parse(newest.time) : null;
}

export function flameQuery(selection: Selection): Query {
  return { ...selectionQuery(selection), max_nodes: NODES_MAX };
}

export function flame(
  selection: Selection,
  path: readonly string[],
  signal: AbortSignal,
): Promise<Answer<ArrayBuffer>> {
  return getBytes("api/v1/flame", { ...flameQuery(selection), call_site: path }, FLAME_TYPE, signal);
}

export function diffQuery(before: Selection, after: Selection): Query {
  return {
    type: after.type,
    left: before.q || "{}",
    left_from: before.window.from,
    left_to: before.window.to,
    right: after.q || "{}",
    right_from: after.window.from,
    right_to: after.window.to,
    max_nodes: NODES_MAX,
  };
}

export function diff(
  before: Selection,
  after: Selection,
  path: readonly string[],
  signal: AbortSignal,
): Promise<Answer<ArrayBuffer>> {
  return getBytes("api/v1/diff", { ...diffQuery(before, after), call_site: path }, FLAME_TYPE, signal);
}

/** What the server refused or changed of late. */
export function explain(signal: AbortSignal): Promise<Answer<Explain>> {
  return getJson("api/v1/ingest/explain", {}, signal);
}

/** Everything of a selection as one gzip pprof. */
export function pprof(selection: Selection, signal: AbortSignal): Promise<Answer<ArrayBuffer>> {
  return getBytes("api/v1/pprof", selectionQuery(selection), "*/*", signal);
}
