// Ranges of time as links and people write them: `now-1h`, RFC 3339, a lens `2026-11-29T03:10Z/PT5M`, and offsets of a
// baseline `-15m`. A window is always absolute: [from, to) in ms since the epoch.

export interface Window {
  readonly from: number;
  readonly to: number;
}

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** `15m` → ms; null for anything else. */
export function readSpan(text: string): number | null {
  const found = /^(\d{1,9})(ms|s|m|h|d|w)$/.exec(text);
  if (!found) return null;
  return Number(found[1]) * (UNITS[found[2] ?? ""] ?? 0);
}

/** The shortest exact way to write a span: 5,400,000 → `90m`. */
export function writeSpan(span_ms: number): string {
  for (const unit of ["w", "d", "h", "m", "s"]) {
    const size = UNITS[unit] ?? 1;
    if (span_ms >= size && span_ms % size === 0) return `${span_ms / size}${unit}`;
  }
  return `${span_ms}ms`;
}

/** Instants that server and calendar can hold; what a link says beyond them counts as these. */
const FIRST = 0;
const LAST = Date.UTC(2200, 0, 1);
const SPAN_MIN = 60_000;

function held(instant: number): number {
  return Math.min(LAST, Math.max(FIRST, instant));
}

/** A window that can be asked for: inside the instants there are, and never empty. */
function heldWindow(from: number, to: number): Window {
  const window = { from: held(from), to: held(to) };
  if (window.from < window.to) return window;
  return window.to - SPAN_MIN < FIRST
    ? { from: window.to, to: window.to + SPAN_MIN }
    : { from: window.to - SPAN_MIN, to: window.to };
}

export function isRelative(text: string): boolean {
  return /^now(-|$)/.test(text.trim());
}

/** An instant of a link, or null: `now`, `now-90m`, RFC 3339 with a zone, or ms (up to 11 digits: s) since the epoch. */
export function readTime(text: string, now: number): number | null {
  const trimmed = text.trim();
  if (trimmed === "now") return now;
  if (trimmed.startsWith("now-")) {
    const span = readSpan(trimmed.slice(4));
    return span === null ? null : held(now - span);
  }
  if (/^\d{9,16}$/.test(trimmed)) return held(Number(trimmed) * (trimmed.length <= 11 ? 1000 : 1));
  if (/^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:\d{2})$/.test(trimmed)) {
    const instant = Date.parse(trimmed.replace(/T(\d{2}:\d{2})(Z|[+-])/, "T$1:00$2"));
    return Number.isNaN(instant) ? null : held(instant);
  }
  return null;
}

/** RFC 3339 in UTC, without what is zero: links carry absolute instants, whatever zone the reader is in. */
export function writeTime(instant: number): string {
  return new Date(instant)
    .toISOString()
    .replace(/\.000Z$/, "Z")
    .replace(/(T\d\d:\d\d):00Z$/, "$1Z");
}

export const DEFAULT_FROM = "now-1h";
export const DEFAULT_TO = "now";

/** The window of a link; a part that cannot be read falls back to the default, and one that is empty is turned round. */
export function resolveWindow(from: string, to: string, now: number): Window {
  const end = readTime(to, now) ?? now;
  const start = readTime(from, now) ?? end - 3_600_000;
  return heldWindow(Math.min(start, end), Math.max(start, end));
}

function readDuration(text: string): number | null {
  const found = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,3})?)S)?)?$/.exec(text);
  if (!found || text.endsWith("P") || text.endsWith("T")) return null;
  const part = (at: number) => Number(found[at] ?? 0);
  return Math.round(part(1) * 86_400_000 + part(2) * 3_600_000 + part(3) * 60_000 + part(4) * 1000);
}

function writeDuration(span_ms: number): string {
  const hours = Math.floor(span_ms / 3_600_000);
  const minutes = Math.floor((span_ms % 3_600_000) / 60_000);
  const seconds = (span_ms % 60_000) / 1000;
  return `PT${hours ? `${hours}H` : ""}${minutes ? `${minutes}M` : ""}${seconds || span_ms === 0 ? `${seconds}S` : ""}`;
}

/** `2026-11-29T03:10Z/PT5M` → window, or null. */
export function readLens(text: string): Window | null {
  const [start, length, ...more] = text.split("/");
  if (!start || !length || more.length > 0) return null;
  const from = readTime(start, Number.NaN);
  const span = readDuration(length);
  if (from === null || Number.isNaN(from) || span === null || span <= 0) return null;
  return heldWindow(from, from + span);
}

export function writeLens(window: Window): string {
  return `${writeTime(window.from)}/${writeDuration(window.to - window.from)}`;
}

/** Where a baseline lies: so many ms earlier, or a window of its own. */
export type Baseline = { readonly offset: number } | { readonly window: Window };

export function readBaseline(text: string): Baseline | null {
  if (text.startsWith("-")) {
    const offset = readSpan(text.slice(1));
    return offset === null || offset === 0 ? null : { offset };
  }
  const window = readLens(text);
  return window && { window };
}

export function writeBaseline(baseline: Baseline): string {
  return "offset" in baseline ? `-${writeSpan(baseline.offset)}` : writeLens(baseline.window);
}

export function baselineWindow(baseline: Baseline, current: Window): Window {
  if ("window" in baseline) return baseline.window;
  return heldWindow(current.from - baseline.offset, current.to - baseline.offset);
}

export const PRESETS = ["5m", "15m", "1h", "6h", "24h", "7d", "30d"] as const;
