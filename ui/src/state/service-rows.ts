// Rows of the start page from what the server says about services and their use. Pure.

import type { Service } from "../data/types.ts";
import type { ProfileType } from "./profile-type.ts";
import { SERVICE } from "./selector.ts";
import type { Chart, Line } from "./series.ts";

export interface ServiceRow {
  readonly name: string;
  readonly types: readonly string[];
  readonly last: number;
  /** Mean per second, or of the state; null = no profile of this type in the range. */
  readonly usage: number | null;
  /** There are profiles of this type, and their sum is beyond 64 bits. */
  readonly tooLarge: boolean;
  readonly perSecond: boolean;
  readonly peak: number;
  /** Share by which it grew against the period before. */
  readonly change: number | "new" | null;
  readonly values: readonly (number | null)[];
}

/** The first step in which anybody has a profile: before it the server may not have run. */
function firstStep(chart: Chart): number {
  const first = chart.lines.map((line) => line.values.findIndex((value) => value !== null)).filter((at) => at >= 0);
  return first.length === 0 ? 0 : Math.min(...first);
}

/** An amount is spread over all of the range since the first profile; a state is the mean of what was seen. */
function meanOf(chart: Chart, line: Line): number | null {
  const seen = line.values.filter((value): value is number => value !== null);
  if (seen.length === 0) return null;
  const sum = seen.reduce((all, value) => all + value, 0);
  return sum / (chart.perSecond ? chart.steps - firstStep(chart) : seen.length);
}

export function serviceRows(
  services: readonly Service[],
  type: ProfileType | null,
  current: Chart | null,
  earlier: Chart | null,
  filter: string,
  sort: { readonly column: string; readonly descending: boolean },
): ServiceRow[] {
  const lines = new Map(current?.lines.map((line) => [line.labels[SERVICE] ?? "", line]));
  const before = new Map(earlier?.lines.map((line) => [line.labels[SERVICE] ?? "", line]));
  const wanted = filter.trim().toLowerCase();
  const rows = services
    .filter((service) => service.name.toLowerCase().includes(wanted))
    .map((service): ServiceRow => {
      const line = type && current ? lines.get(service.name) : undefined;
      const usage = line && current ? meanOf(current, line) : null;
      const past = before.get(service.name);
      const was = past && earlier ? meanOf(earlier, past) : null;
      const change =
        usage === null ||
        !earlier ||
        earlier.lines.length === 0 ||
        earlier.tooLarge.some((labels) => labels[SERVICE] === service.name)
          ? null
          : was === null || was === 0
            ? "new"
            : usage / was - 1;
      return {
        name: service.name,
        types: service.types,
        last: Date.parse(service.last),
        usage,
        tooLarge: current?.tooLarge.some((labels) => labels[SERVICE] === service.name) ?? false,
        perSecond: current?.perSecond ?? true,
        peak: Math.max(0, ...(line?.values.map((value) => value ?? 0) ?? [])),
        change,
        values: line?.values ?? [],
      };
    });
  const rank: Record<string, (row: ServiceRow) => number> = {
    usage: (row) => (row.tooLarge ? Number.MAX_VALUE : (row.usage ?? -1)),
    change: (row) => (row.change === "new" ? Number.MAX_VALUE : (row.change ?? Number.NEGATIVE_INFINITY)),
    last: (row) => row.last,
  };
  const by = rank[sort.column];
  const turn = sort.descending ? -1 : 1;
  return rows.sort((a, b) => {
    const order = by ? by(a) - by(b) || 0 : a.name.localeCompare(b.name);
    return order === 0 || Number.isNaN(order) ? a.name.localeCompare(b.name) : order * turn;
  });
}
