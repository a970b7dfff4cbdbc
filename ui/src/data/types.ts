// Shapes of the answers that the page reads, as docs/api.md describes them. Whole numbers come as numbers, or as bigints
// where a double could not hold them.

export type Whole = number | bigint;

export interface Stats {
  readonly from: string;
  readonly to: string;
  readonly profiles: number;
  readonly samples: number;
  readonly series: number;
  readonly rounds: number;
  readonly bytes_scanned: number;
  readonly cut_nodes: number;
  readonly cut_value: Whole;
  readonly unsymbolised_value: Whole;
  readonly aggregation: string;
  readonly profile_type: string;
  readonly notices: readonly string[];
}

export interface Service {
  readonly name: string;
  readonly types: readonly string[];
  readonly profiles: number;
  readonly last: string;
}

export interface Services {
  readonly services: readonly Service[];
  readonly stats: Stats;
}

export type Labels = Readonly<Record<string, string>>;

export interface SeriesList {
  readonly series: readonly { readonly labels: Labels }[];
  readonly stats: Stats;
}

export interface Timeline {
  readonly unit: string;
  readonly start: string;
  readonly step_ms: number;
  readonly steps: number;
  readonly rate_divisor: number;
  readonly series: readonly {
    readonly labels: Labels;
    readonly points: readonly (readonly [step: number, value: Whole])[];
    readonly total: Whole;
  }[];
  /** Groups without a series: their values do not fit in 64 bits. */
  readonly overflowing?: readonly { readonly labels: Labels }[];
  readonly stats: Stats;
}

export interface FunctionRow {
  readonly name: string;
  readonly file: string;
  readonly self: Whole;
  readonly total: Whole;
}

export interface Top {
  readonly unit: string;
  readonly total: Whole;
  readonly rows: readonly FunctionRow[];
  readonly rows_total: number;
  readonly stats: Stats;
}

export interface Callers {
  readonly unit: string;
  readonly total: Whole;
  readonly function: FunctionRow;
  readonly callers: readonly { readonly name: string; readonly file: string; readonly value: Whole }[];
  readonly callees: readonly { readonly name: string; readonly file: string; readonly value: Whole }[];
  readonly stats: Stats;
}

/** One reason, for one service and client. */
export interface ExplainItem {
  readonly reason: string;
  readonly api: string;
  readonly service: string;
  readonly client: string;
  readonly count: number;
  readonly first: string;
  readonly last: string;
  readonly example: string;
}

export interface Explain {
  readonly since: string;
  readonly accepted: number;
  readonly accepted_last: string;
  readonly refused: readonly ExplainItem[];
  readonly altered: readonly ExplainItem[];
  readonly forgotten: number;
}
