// The Explore page: one selection along time and as a tree. Asks four questions (services, label sets, timeline, tree) and
// shows each answer as it comes; a new one replaces the old picture only when it is there.

import { useEffect, useMemo, useState } from "preact/hooks";
import * as api from "../data/api.ts";
import { tree as askTree } from "../data/flame.ts";
import { useText } from "../i18n/index.ts";
import { asOf, refresh } from "../state/clock.ts";
import { readExplore } from "../state/explore.ts";
import { shortType } from "../state/profile-type.ts";
import { useAnswer } from "../state/query.ts";
import { choose } from "../state/selection.ts";
import { SERVICE, writeSelector } from "../state/selector.ts";
import { aligned, chartOf, coverage, stepFor } from "../state/series.ts";
import { change, place } from "../state/url.ts";
import { lazy } from "../widgets/lazy.tsx";
import { CompareLine, CompareMenu } from "./compare.tsx";
import { Filters } from "./filters.tsx";
import { Graph } from "./graph.tsx";
import { OutMenu } from "./out.tsx";
import { EmptyState, ErrorState, Loading } from "./states.tsx";
import { Timeline } from "./timeline.tsx";
import { Trust } from "./trust.tsx";

const FirstStart = lazy(async () => (await import("./first.tsx")).FirstStart);
const EmptyRange = lazy(async () => (await import("./empty.tsx")).EmptyRange);

const FIRST_MS = 2000;

export function ExplorePage() {
  const text = useText();
  const { parameters } = place.value;
  const state = useMemo(() => readExplore(parameters), [parameters]);
  const now = asOf.value;
  const known = useAnswer(`services ${now}`, (signal) => api.services({ from: 0, to: now + 1 }, signal));
  const services = known.data?.data.services ?? null;
  const chosen = useMemo(() => choose(state, services, now), [state, services, now]);
  const { selection, baseline, outer, shown, type } = chosen;
  const family = `${chosen.service} ${type?.full}`;

  const labelSets = useAnswer(
    services === null ? null : `series ${chosen.service} ${outer.from} ${outer.to}`,
    (signal) => {
      const matchers =
        chosen.service === null ? [] : [{ name: SERVICE, operator: "=" as const, value: chosen.service }];
      return api.series({ q: writeSelector(matchers), type: null, window: outer }, signal);
    },
    chosen.service ?? "",
  );
  const series = useMemo(() => labelSets.data?.data.series.map((one) => one.labels) ?? null, [labelSets.data]);
  const labels = useMemo(() => {
    const names = new Set(series?.flatMap((set) => Object.keys(set)) ?? []);
    if (chosen.service !== null) names.delete(SERVICE);
    return [...names].sort();
  }, [series, chosen.service]);

  const step = stepFor(shown);
  const whole = aligned(shown, step);
  const line = useAnswer(
    selection && `line ${selection.q} ${selection.type} ${state.group} ${whole.from} ${whole.to} ${step}`,
    (signal) => {
      if (!selection) throw new Error("no selection");
      return api.timeline({ ...selection, window: whole }, step, state.group, signal);
    },
    family,
  );
  // An older chart under a question that was refused would be read as its answer.
  const chart = useMemo(
    () => (line.data && !line.error ? chartOf(line.data.data) : null),
    [line.data, line.error === null],
  );

  // How much of either side has profiles at all: half a baseline is no doubled use. Of a baseline beyond the chart's
  // time, or of other profiles, the server is asked.
  const past = baseline?.window ?? null;
  const isDrawn = past !== null && baseline?.q === selection?.q && past.from >= whole.from && past.to <= whole.to;
  const pastStep = past ? stepFor(past) : 0;
  const pastLine = useAnswer(baseline && !isDrawn ? `past ${JSON.stringify(baseline)}` : null, (signal) => {
    if (!baseline) throw new Error("no baseline");
    return api.timeline({ ...baseline, window: aligned(baseline.window, pastStep) }, pastStep, null, signal);
  });
  const covered = useMemo(() => {
    const other = isDrawn ? chart : pastLine.data && pastLine.current ? chartOf(pastLine.data.data) : null;
    if (!past || !chart || !other || !line.current) return null;
    return { before: coverage(other, past), now: coverage(chart, chosen.inner) };
  }, [chart, pastLine.data, pastLine.current, line.current, isDrawn, past?.from, past?.to, chosen.inner]);

  // What was left out below a box is asked for as a tree of its own; another selection begins with everything again.
  const about = JSON.stringify([selection, baseline]);
  const [detail, setDetail] = useState<{ about: string; path: readonly string[] } | null>(null);
  const path = detail?.about === about && state.at !== null ? detail.path : [];
  const asked = useAnswer(
    selection && `tree ${about} ${path.join("\0")}`,
    (signal) => {
      if (!selection) throw new Error("no selection");
      return askTree(selection, baseline, path, signal);
    },
    `${family} ${baseline !== null}`,
  );
  const tree = asked.data;

  const nothingYet = services !== null && services.length === 0;
  useEffect(() => {
    if (!nothingYet) return;
    const timer = setInterval(refresh, FIRST_MS);
    return () => clearInterval(timer);
  }, [nothingYet]);

  if (known.error && !services) return <ErrorState error={known.error} retry={known.retry} />;
  if (nothingYet) return <FirstStart />;

  const failed = asked.error ?? line.error;
  const empty = tree !== null && tree.stats.profiles === 0;
  const noValue = tree !== null && !empty && tree.model.meta.totals.every((total) => total === 0n);
  return (
    <div class="explore">
      <h1 class="unseen">{text.nav.explore}</h1>
      <div class="top-line">
        <Filters state={state} chosen={chosen} services={services} series={series} />
        <div class="tools">
          <CompareMenu state={state} inner={chosen.inner} />
          <OutMenu state={state} chosen={chosen} tree={empty ? null : tree} />
        </div>
      </div>
      {chosen.unknownType ? (
        <EmptyState title={text.states.unknownType(chosen.unknownType)}>
          <p class="actions">
            {chosen.types.map((full) => (
              <button
                type="button"
                class="button"
                key={full}
                onClick={() => change({ t: shortType(full, chosen.types) }, "push")}
              >
                <code>{full}</code>
              </button>
            ))}
          </p>
        </EmptyState>
      ) : null}
      {selection ? (
        <Timeline state={state} chosen={chosen} chart={chart} stale={line.loading && !line.current} labels={labels} />
      ) : null}
      <CompareLine state={state} chosen={chosen} tree={empty ? null : tree} covered={covered} />
      <Loading asked={asked} />
      {failed ? (
        <ErrorState
          error={failed}
          retry={() => {
            asked.retry();
            line.retry();
          }}
        />
      ) : null}
      {asked.error && tree === null ? null : empty ? (
        <EmptyRange state={state} chosen={chosen} />
      ) : noValue ? (
        <EmptyState title={text.states.noValue}>{null}</EmptyState>
      ) : tree ? (
        <Graph
          state={state}
          chosen={chosen}
          tree={tree}
          stale={asked.loading && !asked.current}
          old={!asked.loading && !asked.current}
          detail={path}
          onDetail={(next) => setDetail(next.length === 0 ? null : { about, path: next })}
        />
      ) : (
        <div class="graph-room" />
      )}
      <Trust tree={asked.error || empty ? null : tree} series={series} matchers={state.matchers} />
    </div>
  );
}
