// How numbers are written, in one place, so that graph, table, chart and trust line never disagree. Short forms have
// three digits; exact ones have all of them, in groups.

import type { Whole } from "../data/types.ts";
import type { Language } from "./preferences.ts";
import { isTime } from "./profile-type.ts";

export interface Numbers {
  /** `1,204` */
  readonly count: (value: Whole) => string;
  /** `12.4 s`, `31.4 MiB`, `1.2 M` */
  readonly value: (value: Whole, unit: string) => string;
  /** All digits and the unit as the profile has it: `7,900,000,000 ns` */
  readonly exact: (value: Whole, unit: string) => string;
  /** A rate or state as the timeline shows it: `2.13 cores`, `31.4 MiB/s` */
  readonly rate: (value: number, unit: string, perSecond: boolean, cores: string) => string;
  /** `31.0 %` */
  readonly share: (share: number) => string;
  /** `+11.8 %`, with a true minus sign */
  readonly change: (share: number) => string;
  /** A difference of two shares: `+7.8 pp`, never to be taken for a change by that share */
  readonly points: (difference: number) => string;
  /** `+1.2 s` */
  readonly difference: (value: Whole, unit: string) => string;
}

const TIMES: ReadonlyArray<readonly [string, number]> = [
  ["d", 86_400e9],
  ["h", 3_600e9],
  ["min", 60e9],
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
  ["ns", 1],
];
const PER_UNIT: Readonly<Record<string, number>> = {
  nanoseconds: 1,
  microseconds: 1e3,
  milliseconds: 1e6,
  seconds: 1e9,
};
const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const COUNTS = ["", " k", " M", " G", " T", " P", " E"];
const EXACT: Readonly<Record<string, string>> = {
  nanoseconds: "ns",
  microseconds: "µs",
  milliseconds: "ms",
  seconds: "s",
  bytes: "B",
  count: "",
};
const MINUS = "−";

export function numbersFor(language: Language): Numbers {
  const locale = language === "zh" ? "zh-CN" : "en-GB";
  const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
  const digits = [0, 1, 2].map(
    (n) => new Intl.NumberFormat(locale, { minimumFractionDigits: n, maximumFractionDigits: n, useGrouping: false }),
  );
  const small = new Intl.NumberFormat(locale, { maximumSignificantDigits: 2 });
  const signed = (text: string) => text.replace(/^-/, MINUS);

  /** Three digits: 1.23, 12.3, 123. */
  const three = (value: number): string => {
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size >= 1000) return signed(whole.format(value));
    if (size < 0.0995) return signed(small.format(value));
    const places = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    return signed((digits[places] ?? whole).format(value));
  };

  const scaled = (value: number, step: number, names: readonly string[], gap: string): string => {
    let at = 0;
    let rest = value;
    while (Math.abs(rest) >= step * 0.9995 && at < names.length - 1) {
      rest /= step;
      at += 1;
    }
    const text = at === 0 && Number.isInteger(rest) ? signed(whole.format(rest)) : three(rest);
    return names[at] === "" ? text : `${text}${gap}${names[at]}`;
  };

  const time = (value_ns: number): string => {
    const size = Math.abs(value_ns);
    const [name, factor] = TIMES.find(([, factor]) => size >= factor * 0.9995) ?? ["ns", 1];
    const scaled = value_ns / factor;
    return `${name === "ns" && Number.isInteger(scaled) ? signed(whole.format(scaled)) : three(scaled)} ${name}`;
  };

  const value = (amount: Whole, unit: string): string => {
    const number = Number(amount);
    if (isTime(unit)) return number === 0 ? "0 s" : time(number * (PER_UNIT[unit] ?? 1));
    if (unit === "bytes") return scaled(number, 1024, BYTES, " ");
    const count = scaled(number, 1000, COUNTS, "");
    return unit === "count" || unit === "" ? count : `${count} ${unit}`;
  };

  const share = (part: number): string => {
    const percent = part * 100;
    const size = Math.abs(percent);
    if (size > 0 && size < 0.05) return signed(`${(digits[2] ?? whole).format(percent)} %`);
    return signed(`${(digits[1] ?? whole).format(percent)} %`);
  };

  const plus = (text: string, positive: boolean) => (positive ? `+${text}` : text);

  return {
    count: (amount) => signed(whole.format(amount)),
    value,
    exact: (amount, unit) => `${signed(whole.format(amount))} ${EXACT[unit] ?? unit}`.trim(),
    rate: (amount, unit, perSecond, cores) => {
      if (!perSecond) return value(Math.round(amount * 100) / 100, unit);
      if (isTime(unit)) return cores === "" ? three(amount) : `${three(amount)} ${cores}`;
      return `${value(amount, unit)}/s`;
    },
    share,
    change: (part) => plus(share(part), part > 0),
    points: (part) => plus(share(part).replace(/%$/, language === "zh" ? "个百分点" : "pp"), part > 0),
    difference: (amount, unit) => plus(value(amount, unit), amount > 0),
  };
}
