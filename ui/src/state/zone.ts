// Instants and the clocks of time zones, daylight saving included: 01:30 may come twice in a night, or never. Zones are
// IANA names; "local" is the browser's. Pure: every function is told zone and instant.

export type Zone = "local" | (string & {});

const formats = new Map<string, Intl.DateTimeFormat>();

function zoneName(zone: Zone): string | undefined {
  return zone === "local" ? undefined : zone;
}

/** Whether the browser knows this zone; links may carry any text. */
export function isZone(text: string): boolean {
  if (text === "local") return true;
  try {
    new Intl.DateTimeFormat("en", { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

export interface Clock {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

/** What a clock on the wall of that zone shows at an instant. */
export function clockAt(instant: number, zone: Zone): Clock {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zoneName(zone),
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
    formats.set(zone, format);
  }
  const parts: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(instant)) parts[type] = Number(value);
  return {
    year: parts["year"] ?? 1970,
    month: parts["month"] ?? 1,
    day: parts["day"] ?? 1,
    hour: parts["hour"] ?? 0,
    minute: parts["minute"] ?? 0,
    second: parts["second"] ?? 0,
  };
}

const asUtc = (clock: Clock) =>
  Date.UTC(clock.year, clock.month - 1, clock.day, clock.hour, clock.minute, clock.second);

/** How far that zone's clock is ahead of UTC at an instant, in ms. */
export function offsetAt(instant: number, zone: Zone): number {
  if (zone === "UTC") return 0;
  return asUtc(clockAt(instant, zone)) - Math.floor(instant / 1000) * 1000;
}

/** `+02:00`, `−05:00` as in RFC 3339, with a plain hyphen so that it can be copied. */
export function formatOffset(offset_ms: number): string {
  const minutes = Math.round(Math.abs(offset_ms) / 60_000);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${offset_ms < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** `UTC`, `+05:30`: which clock an instant is written by, for whoever has another. */
export function zoneTag(instant: number, zone: Zone): string {
  const offset = offsetAt(instant, zone);
  return offset === 0 ? "UTC" : formatOffset(offset);
}

/** Every instant at which the zone's clock shows that: usually one, two when it is set back, none when set forward. */
export function instantsOf(clock: Clock, zone: Zone): number[] {
  const target = asUtc(clock);
  const day = 86_400_000;
  // The offsets in force around the time in question; a clock is set at most once in those two days.
  const offsets = new Set([offsetAt(target - day, zone), offsetAt(target, zone), offsetAt(target + day, zone)]);
  return [...offsets]
    .map((offset) => target - offset)
    .filter((instant) => asUtc(clockAt(instant, zone)) === target)
    .filter((instant, at, all) => all.indexOf(instant) === at)
    .sort((a, b) => a - b);
}

export type Read =
  | { readonly ok: true; readonly instant: number; readonly note: "twice" | "never" | null }
  | { readonly ok: false };

const WRITTEN =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3})\d*)?)?)?\s*(Z|[+-]\d{2}:?\d{2})?$/;

/**
 * Reads a date and time as people write it, in a zone. With an offset or Z behind it the zone does not matter. Of a time
 * that comes twice the first is taken, one that never comes is moved ahead as the clock was; both are said in `note`.
 */
export function readInstant(text: string, zone: Zone): Read {
  const found = WRITTEN.exec(text.trim());
  if (!found) return { ok: false };
  const number = (at: number) => Number(found[at] ?? 0);
  const clock: Clock = {
    year: number(1),
    month: number(2),
    day: number(3),
    hour: number(4),
    minute: number(5),
    second: number(6),
  };
  const inside =
    clock.month >= 1 &&
    clock.month <= 12 &&
    clock.day >= 1 &&
    clock.day <= 31 &&
    clock.hour <= 23 &&
    clock.minute <= 59 &&
    clock.second <= 59;
  const real = new Date(Date.UTC(clock.year, clock.month - 1, clock.day));
  if (!inside || real.getUTCDate() !== clock.day) return { ok: false };
  const ms = Number((found[7] ?? "").padEnd(3, "0"));
  const suffix = found[8];
  if (suffix) {
    const sign = suffix.startsWith("-") ? -1 : 1;
    const offset = suffix === "Z" ? 0 : sign * (Number(suffix.slice(1, 3)) * 60 + Number(suffix.slice(-2))) * 60_000;
    return { ok: true, instant: asUtc(clock) - offset + ms, note: null };
  }
  const [first, second] = instantsOf(clock, zone);
  if (first !== undefined) return { ok: true, instant: first + ms, note: second === undefined ? null : "twice" };
  const before = offsetAt(asUtc(clock) - 86_400_000, zone);
  return { ok: true, instant: asUtc(clock) - before + ms, note: "never" };
}

/** `14:00`, `yesterday`, `today 9:30` with the day that is meant: of a clock alone, the day that is `shown`. */
export function withDay(text: string, zone: Zone, shown: number, now: number): string {
  const found = /^(?:(today|今天)|(yesterday|昨天))?\s*(\d{1,2}:\d{2}(?::\d{2})?)?$/i.exec(text.trim());
  if (!found || found[0] === "") return text;
  const [, today, yesterday, time = "00:00"] = found;
  const { year, month, day } = clockAt(today || yesterday ? now : shown, zone);
  const date = new Date(Date.UTC(year, month - 1, yesterday ? day - 1 : day)).toISOString().slice(0, 10);
  return `${date} ${time}`;
}

const two = (n: number) => String(n).padStart(2, "0");

/** `2026-11-01 01:30:00`, with the offset behind it where the same clock time comes twice. */
export function writeInstant(instant: number, zone: Zone): string {
  const clock = clockAt(instant, zone);
  const text = `${clock.year}-${two(clock.month)}-${two(clock.day)} ${two(clock.hour)}:${two(clock.minute)}:${two(clock.second)}`;
  return instantsOf(clock, zone).length > 1 ? `${text} ${formatOffset(offsetAt(instant, zone))}` : text;
}

/** `01:30`, with seconds where a step is shorter than a minute. */
export function writeClock(instant: number, zone: Zone, seconds: boolean): string {
  const clock = clockAt(instant, zone);
  const text = `${two(clock.hour)}:${two(clock.minute)}${seconds ? `:${two(clock.second)}` : ""}`;
  return instantsOf(clock, zone).length > 1 ? `${text} ${formatOffset(offsetAt(instant, zone))}` : text;
}

/** `11-29`: the day as the axis shows it. */
export function writeDay(instant: number, zone: Zone): string {
  const clock = clockAt(instant, zone);
  return `${two(clock.month)}-${two(clock.day)}`;
}
