// What the Explore page asks about, worked out from its link: the outer window, the lens inside it, the type among those
// that the services have, and the baseline. Pure.

import type { Selection } from "../data/api.ts";
import type { Service } from "../data/types.ts";
import type { Explore } from "./explore.ts";
import { defaultType, findType, type ProfileType, readType } from "./profile-type.ts";
import { serviceOf, writeSelector } from "./selector.ts";
import { baselineWindow, resolveWindow, type Window } from "./time.ts";

export interface Chosen {
  readonly service: string | null;
  /** Types of the chosen service, or of all. */
  readonly types: readonly string[];
  /** The type that is shown when the link says none. */
  readonly byDefault: string | null;
  /** Null while services are not known, or when a link's word means none or several. */
  readonly type: ProfileType | null;
  /** A service that never sent anything. */
  readonly unknownService: string | null;
  /** A link's word that means no type here. */
  readonly unknownType: string | null;
  /** The whole range. */
  readonly outer: Window;
  /** The part that is chosen, if it lies in the range. */
  readonly lens: Window | null;
  /** What tree and table are about: the lens, or the whole range. */
  readonly inner: Window;
  readonly selection: Selection | null;
  readonly baseline: Selection | null;
  /** What the chart shows: the range, and the baseline where it lies just before it. */
  readonly shown: Window;
}

export function choose(state: Explore, services: readonly Service[] | null, now: number): Chosen {
  const service = state.matchers ? serviceOf(state.matchers) : null;
  const known = services?.find((one) => one.name === service);
  const every = known ? known.types : (services?.flatMap((one) => one.types).sort() ?? []);
  const types = [...new Set(every)];
  const found = state.type === null ? defaultType(every) : findType(state.type, types);
  // A whole type is taken at its word, also where the service has none of it.
  const type = found ?? (state.type?.split(":").length === 5 ? readType(state.type) : null);
  const outer = resolveWindow(state.from, state.to, now);
  const lens = state.lens && state.lens.to > outer.from && state.lens.from < outer.to ? state.lens : null;
  const inner = lens ?? outer;
  const q = state.matchers ? writeSelector(state.matchers) : state.q;
  const selection = type && { q, type: type.full, window: inner };
  const before = state.baseline && baselineWindow(state.baseline, inner);
  const baseline = selection && before && { ...selection, q: state.baselineQ ?? q, window: before };
  return {
    service,
    types,
    byDefault: defaultType(every)?.full ?? null,
    type,
    unknownService: services !== null && known === undefined ? service : null,
    unknownType: services !== null && type === null && state.type !== null ? state.type : null,
    outer,
    lens,
    inner,
    selection,
    baseline: baseline || null,
    shown: before ? widened(outer, before) : outer,
  };
}

const WIDENED_MAX = 3;

function widened(outer: Window, before: Window): Window {
  const both = { from: Math.min(outer.from, before.from), to: Math.max(outer.to, before.to) };
  return both.to - both.from <= WIDENED_MAX * (outer.to - outer.from) ? both : outer;
}
