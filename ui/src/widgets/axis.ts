// Where the marks of a time axis stand: at round times of the reader's own clock, also across a change of the clocks,
// and what is written at them. Pure.

import { clockAt, offsetAt, writeClock, writeDay, type Zone } from "../state/zone.ts";

const S = 1000;
const STEPS_MS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
  1_209_600, 2_592_000,
].map((seconds) => seconds * S);

/** Round instants of that zone inside a range, at most about `wanted`. */
export function timeMarks(from: number, to: number, wanted: number, zone: Zone): number[] {
  const span = to - from;
  const step = STEPS_MS.find((one) => span / one <= wanted) ?? span;
  const marks: number[] = [];
  let at = from - ((from + offsetAt(from, zone)) % step);
  while (at <= to) {
    if (at >= from) marks.push(at);
    const next = at + step;
    // After the clocks were set the next round time is a little nearer or farther.
    const off = (next + offsetAt(next, zone)) % step;
    at = off === 0 ? next : next - off <= at ? next - off + step : next - off;
  }
  return marks;
}

/** `03:10`, or the day at midnight and wherever a day begins on the axis. */
export function markTexts(marks: readonly number[], zone: Zone): string[] {
  const step = marks.length > 1 ? (marks[1] ?? 0) - (marks[0] ?? 0) : 60 * S;
  return marks.map((mark) => {
    const { hour, minute, second } = clockAt(mark, zone);
    if (hour === 0 && minute === 0 && second === 0) return writeDay(mark, zone);
    return writeClock(mark, zone, step < 60 * S);
  });
}
