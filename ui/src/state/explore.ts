// The Explore page's state as its link says it, read once into types that cannot be wrong, and changes to it written
// back. A default is never written. What cannot be read counts as not said; the link keeps it.

import { type Matcher, readSelector, writeSelector } from "./selector.ts";
import {
  type Baseline,
  DEFAULT_FROM,
  DEFAULT_TO,
  readBaseline,
  readLens,
  readTime,
  type Window,
  writeBaseline,
  writeLens,
} from "./time.ts";
import { type Changes, type Parameters, parameter } from "./url.ts";
import { isZone, type Zone } from "./zone.ts";

export type Panel = "flame" | "table" | "callers";
export type Colour = "package" | "value";
export type DiffBy = "absolute" | "share";

export interface Explore {
  /** The selector's text between its braces, as the link has it. */
  readonly q: string;
  /** The same as matchers; null where only the server can read it. */
  readonly matchers: readonly Matcher[] | null;
  /** A profile type's word, or null for the service's first. */
  readonly type: string | null;
  readonly from: string;
  readonly to: string;
  readonly zone: Zone | null;
  readonly live: boolean;
  readonly lens: Window | null;
  readonly baseline: Baseline | null;
  readonly baselineQ: string | null;
  readonly diffBy: DiffBy;
  readonly panels: readonly Panel[];
  /** The function whose callers and callees are shown. */
  readonly fn: string | null;
  readonly group: string | null;
  readonly search: string;
  /** The focused box: the hash of its path. */
  readonly at: string | null;
  readonly colour: Colour;
  readonly direction: "down" | "up";
  readonly order: "size" | "name" | null;
}

const PANELS: readonly Panel[] = ["flame", "table", "callers"];
const DEFAULT_PANELS: readonly Panel[] = ["flame", "table"];

function oneOf<T extends string>(text: string | null, known: readonly T[], otherwise: T): T {
  return known.find((one) => one === text) ?? otherwise;
}

export function readExplore(parameters: Parameters): Explore {
  const get = (name: string) => {
    const text = parameter(parameters, name);
    return text === "" ? null : text;
  };
  // `cpu{…}`, as the command line writes it, is a type and matchers.
  // A brace that is never closed stays in the selector: the server says what is wrong with it.
  const [, ahead = "", q = ""] = /^([^{]*)(\{.*)?$/s.exec(get("q")?.trim() ?? "") ?? [];
  const panels = (get("view") ?? "")
    .split(/[+ ]/)
    .filter((name): name is Panel => PANELS.some((one) => one === name));
  const zone = get("tz");
  return {
    q,
    matchers: readSelector(q),
    type: get("t") ?? (ahead.trim() || null),
    from: get("from") ?? DEFAULT_FROM,
    to: get("to") ?? DEFAULT_TO,
    zone: zone && isZone(zone) ? zone : null,
    live: get("live") === "1",
    lens: readLens(get("lens") ?? ""),
    baseline: readBaseline(get("b.lens") ?? ""),
    baselineQ: get("b.q"),
    diffBy: oneOf(get("m"), ["absolute", "share"] as const, "absolute"),
    panels: panels.length > 0 ? [...new Set(panels)] : DEFAULT_PANELS,
    fn: get("fn"),
    group: get("g"),
    search: parameter(parameters, "s") ?? "",
    at: get("at"),
    colour: oneOf(get("by"), ["package", "value"] as const, "package"),
    direction: oneOf(get("dir"), ["down", "up"] as const, "down"),
    order: get("sort") === "size" ? "size" : get("sort") === "name" ? "name" : null,
  };
}

/** What a link says that cannot be read, `from=banana`: it counts as not said, but is never passed over in silence. */
export function unread(parameters: Parameters): string[] {
  const time = (text: string) => readTime(text, 0) !== null;
  const readers: Readonly<Record<string, (text: string) => boolean>> = {
    from: time,
    to: time,
    tz: isZone,
    lens: (text) => readLens(text) !== null,
    "b.lens": (text) => readBaseline(text) !== null,
  };
  return Object.entries(readers).flatMap(([name, reads]) => {
    const text = parameter(parameters, name);
    return text === null || text === "" || reads(text) ? [] : [`${name}=${text}`];
  });
}

/** What a change of the state changes in the link. Only the fields that are given are touched. */
export function writeExplore(next: Partial<Omit<Explore, "q">>): Changes {
  const changes: Record<string, string | null> = {};
  const put = (name: string, value: string | null, byDefault: string | null = null) => {
    changes[name] = value === byDefault || value === "" ? null : value;
  };
  if (next.matchers) put("q", writeSelector(next.matchers));
  if (next.type !== undefined) put("t", next.type);
  if (next.from !== undefined) put("from", next.from, DEFAULT_FROM);
  if (next.to !== undefined) put("to", next.to, DEFAULT_TO);
  if (next.zone !== undefined) put("tz", next.zone);
  if (next.live !== undefined) put("live", next.live ? "1" : null);
  if (next.lens !== undefined) put("lens", next.lens && writeLens(next.lens));
  if (next.baseline !== undefined) put("b.lens", next.baseline && writeBaseline(next.baseline));
  if (next.baselineQ !== undefined) put("b.q", next.baselineQ);
  if (next.diffBy !== undefined) put("m", next.diffBy, "absolute");
  if (next.panels !== undefined) put("view", next.panels.join(" "), DEFAULT_PANELS.join(" "));
  if (next.fn !== undefined) put("fn", next.fn);
  if (next.group !== undefined) put("g", next.group);
  if (next.search !== undefined) put("s", next.search);
  if (next.at !== undefined) put("at", next.at);
  if (next.colour !== undefined) put("by", next.colour, "package");
  if (next.direction !== undefined) put("dir", next.direction, "down");
  if (next.order !== undefined) put("sort", next.order);
  return changes;
}

/** The order in force: widest first, but by name in a comparison, where the shape should stay. */
export function orderOf(state: Explore): "size" | "name" {
  return state.order ?? (state.baseline ? "name" : "size");
}
