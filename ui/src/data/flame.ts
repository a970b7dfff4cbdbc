// The call tree of a selection, or of two laid over each other, decoded. The bytes become typed arrays without copying.

import { decodeFlame, type FlameModel } from "../flame/index.ts";
import * as api from "./api.ts";
import type { Stats } from "./types.ts";

export interface Tree {
  readonly model: FlameModel;
  readonly stats: Stats;
  readonly took_ms: number;
  readonly bytes: number;
}

const NO_STATS: Stats = {
  from: "",
  to: "",
  profiles: 0,
  samples: 0,
  series: 0,
  rounds: 0,
  bytes_scanned: 0,
  cut_nodes: 0,
  cut_value: 0,
  unsymbolised_value: 0,
  aggregation: "sum",
  profile_type: "",
  notices: [],
};

/** `path` asks only for stacks that begin with these functions: finer detail below a box. */
export async function tree(
  selection: api.Selection,
  baseline: api.Selection | null,
  path: readonly string[],
  signal: AbortSignal,
): Promise<Tree> {
  const answer = baseline
    ? await api.diff(baseline, selection, path, signal)
    : await api.flame(selection, path, signal);
  const model = decodeFlame(answer.data);
  const stats = model.meta.raw["stats"] as Partial<Stats> | undefined;
  return { model, stats: { ...NO_STATS, ...stats }, took_ms: answer.took_ms, bytes: answer.bytes };
}
