// Search: plain text is a part of the name whatever its case, /…/ a regular expression, `file:` and `pkg:` look
// elsewhere. Never fuzzy: more letters never find more. Each string is tested once, whatever the number of nodes; the
// share counts each stack once (only the outermost match adds its total).

import { ExactSums, shareOf } from "./column.ts";
import type { FlameLayout } from "./layout.ts";
import { linearPattern } from "./linear.ts";
import type { FlameModel, Matches, Query } from "./types.ts";

const FIELDS: Readonly<Record<string, Query["field"]>> = { "file:": "file", "pkg:": "package" };
/** Longer text is no search but a mistake. */
export const QUERY_MAX = 2_000;

/** What was typed, as a query; null for nothing, a text when it is no regular expression. */
export function parseQuery(text: string): Query | null | { readonly error: string } {
  const trimmed = text.trim().slice(0, QUERY_MAX);
  const prefix = Object.keys(FIELDS).find((one) => trimmed.startsWith(one));
  const field = prefix === undefined ? "name" : (FIELDS[prefix] ?? "name");
  const wanted = prefix === undefined ? trimmed : trimmed.slice(prefix.length).trim();
  if (wanted === "") return null;
  const expression = /^\/(.+)\/(i?)$/s.exec(wanted);
  if (!expression) return { field, pattern: wanted.toLowerCase(), text: trimmed };
  try {
    return { field, pattern: linearPattern(expression[1] ?? "", expression[2] ?? ""), text: trimmed };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** Whether one text is found by a query. */
export function testText(query: Query, text: string): boolean {
  const { pattern } = query;
  return typeof pattern === "string" ? text.toLowerCase().includes(pattern) : pattern.test(text);
}

/** Lower case of all strings of a reply, made once: it costs more than the search. */
const lowered = new WeakMap<readonly string[], readonly string[]>();

function testAll(query: Query, strings: readonly string[]): Uint8Array {
  const found = new Uint8Array(strings.length);
  const { pattern } = query;
  if (typeof pattern !== "string") {
    for (let at = 0; at < strings.length; at++) found[at] = pattern.test(strings[at] as string) ? 1 : 0;
    return found;
  }
  let lower = lowered.get(strings);
  if (!lower) {
    lower = strings.map((text) => text.toLowerCase());
    lowered.set(strings, lower);
  }
  for (let at = 0; at < lower.length; at++) found[at] = (lower[at] as string).includes(pattern) ? 1 : 0;
  return found;
}

/** Which nodes a query finds, and what share of everything they are. */
export function searchMatches(model: FlameModel, query: Query): Matches {
  const strings = testAll(query, model.strings);
  const ids = model.frames[query.field];
  const frames = new Uint8Array(model.frames.size);
  for (let frame = 0; frame < frames.length; frame++) frames[frame] = strings[ids[frame] as number] as number;
  if (model.restFrame >= 0) frames[model.restFrame] = 0;
  // The root is no function.
  let found = 0;
  for (let node = 1; node < model.size; node++) found += frames[model.frame[node] as number] as number;
  const nodes = new Uint32Array(found);
  const sums = new ExactSums(model.sides);
  let at = 0;
  let behind = 0;
  for (let node = 1; node < model.size; node++) {
    if (frames[model.frame[node] as number] === 0) continue;
    nodes[at++] = node;
    if (node < behind) continue;
    behind = model.end[node] as number;
    for (let side = 0; side < model.sides; side++) {
      const column = model.total[side];
      if (column) sums.add(side, column, node);
    }
  }
  const totals = model.total.map((_, side) => sums.exact(side));
  const shares = totals.map((total, side) => shareOf(total, model.meta.totals[side] ?? 0n));
  return { query, frames, nodes, totals, shares };
}

/**
 * For each position how many boxes before it have a match in or below them: a grey block holds one when the number
 * grows across it. One more entry than positions.
 */
export function matchesBefore(model: FlameModel, layout: FlameLayout, matches: Matches): Uint32Array {
  const below = new Uint8Array(model.size);
  for (const node of matches.nodes) {
    for (let at = node; below[at] === 0; at = model.parent[at] as number) below[at] = 1;
  }
  const before = new Uint32Array(model.size + 1);
  for (let position = 0; position < model.size; position++) {
    before[position + 1] = (before[position] as number) + (below[layout.node[position] as number] as number);
  }
  return before;
}

/** The found node after (or before) another in the order of the picture, round the end. */
export function nextMatch(matches: Matches, from: number, step: 1 | -1): number | null {
  const { nodes } = matches;
  if (nodes.length === 0) return null;
  let low = 0;
  let high = nodes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((nodes[middle] as number) < from) low = middle + 1;
    else high = middle;
  }
  const here = nodes[low] === from;
  const at = step === 1 ? low + (here ? 1 : 0) : low - 1;
  return nodes[(at + nodes.length) % nodes.length] as number;
}
