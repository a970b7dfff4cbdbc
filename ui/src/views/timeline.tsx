// The selection along time: bars of the whole, or a line per value of a label; a part can be chosen, and everything
// below is then about that part. Says in words what it draws, and as a table on demand.

import { useMemo, useState } from "preact/hooks";
import { typeName, useNumbers, useText } from "../i18n/index.ts";
import type { Explore } from "../state/explore.ts";
import { writeExplore } from "../state/explore.ts";
import { isTime } from "../state/profile-type.ts";
import type { Chosen } from "../state/selection.ts";
import { type Chart, extentOf, type Line, sumOf } from "../state/series.ts";
import { type Window, writeTime } from "../state/time.ts";
import { change } from "../state/url.ts";
import { writeClock, writeInstant } from "../state/zone.ts";
import { Brush } from "../widgets/brush.tsx";
import { Icon } from "../widgets/icon.tsx";
import { IconButton } from "../widgets/icon-button.tsx";
import { lazy } from "../widgets/lazy.tsx";
import { Menu } from "../widgets/menu.tsx";
import { LINES_MAX } from "../widgets/plot-frame.ts";
import { useThemeKey } from "../widgets/theme.ts";
import { Legend } from "./legend.tsx";
import { useZone, writeRange } from "./range.tsx";

/** The chart library comes beside the first picture, not before it. */
const LineChart = lazy(async () => (await import("../widgets/line-chart.tsx")).LineChart);

interface Props {
  readonly state: Explore;
  readonly chosen: Chosen;
  readonly chart: Chart | null;
  readonly stale: boolean;
  /** Labels that lines can be drawn by. */
  readonly labels: readonly string[];
}

const HEIGHT = 116;
const SECONDS_BELOW_MS = 60_000;

export function Timeline({ state, chosen, chart, stale, labels }: Props) {
  const text = useText();
  const numbers = useNumbers();
  const zone = useZone();
  const theme = useThemeKey();
  const [pointed, setPointed] = useState<number | null>(null);
  const whole = useMemo(() => chart && sumOf(chart), [chart]);
  const shown = chosen.shown;
  const seconds = chart !== null && chart.step_ms < SECONDS_BELOW_MS;
  const rate = (value: number) =>
    numbers.rate(value, chart?.unit ?? "", chart?.perSecond ?? true, text.timeline.cores);
  // The unit of the axis stands in the title, where it is one word.
  const axis = (value: number) => numbers.rate(value, chart?.unit ?? "", chart?.perSecond ?? true, "");
  const inCores = chart?.perSecond === true && isTime(chart.unit);
  const clock = (instant: number) => writeClock(instant, zone, seconds);
  const extent = chart && whole ? extentOf(chart, whole, chosen.inner) : null;
  const what = typeName(text, chosen.type);
  const at = chart && pointed !== null ? Math.floor((pointed - chart.start) / chart.step_ms) : -1;
  const pointedValue = whole?.values[at] ?? null;
  const { lens } = chosen;
  const [litValue, setLit] = useState<string | null>(null);
  const groupOf = (line: Line | undefined) => line?.labels[state.group ?? ""] ?? "";
  const grouped = state.group !== null;
  const lit =
    grouped && litValue !== null ? (chart?.lines.findIndex((line) => groupOf(line) === litValue) ?? -1) : -1;

  const setLens = (window: Window | null, nudge = false) =>
    change(writeExplore({ lens: window }), nudge ? "replace" : "push");
  const summary = extent
    ? text.timeline.summary(
        what,
        writeInstant(shown.from, zone),
        writeInstant(shown.to, zone),
        rate(extent.peak),
        clock(extent.peakAt),
        rate(extent.mean),
      )
    : text.timeline.empty;

  return (
    <section class={stale ? "timeline stale" : "timeline"} aria-labelledby="timeline-title">
      <div class="bar-line">
        <h2 id="timeline-title">
          <span class="unseen">{text.timeline.title}: </span>
          {what}
          {inCores ? <span class="soft unit">{text.timeline.cores}</span> : null}
        </h2>
        <Menu
          label={`${text.timeline.groupBy}: ${state.group ?? text.timeline.noGroup}`}
          button={
            <>
              <span class="soft">{text.timeline.groupBy}</span> <span>{state.group ?? text.timeline.noGroup}</span>
              <Icon name="down" />
            </>
          }
          sections={[
            {
              items: [null, ...labels].map((label) => ({
                key: label ?? "",
                label: label ?? text.timeline.noGroup,
                checked: label === state.group,
                act: () => change(writeExplore({ group: label }), "push"),
              })),
            },
          ]}
        />
        {lens ? (
          <span class="lens-text">
            <span class="soft">{text.timeline.selection}</span> <b>{writeRange(lens.from, lens.to, zone)}</b>
            <IconButton
              icon="zoom"
              label={text.timeline.zoom}
              onAct={() =>
                change(
                  writeExplore({ from: writeTime(lens.from), to: writeTime(lens.to), lens: null, live: false }),
                  "push",
                )
              }
            />
            <IconButton icon="close" label={text.timeline.clear} onAct={() => setLens(null)} />
          </span>
        ) : (
          <span class={state.lens ? "warn-text" : "note hint"}>
            {state.lens ? text.timeline.lensOutside : text.timeline.dragHint}
          </span>
        )}
        <span class="grow" />
        <span class="figures">
          {grouped && extent ? <span class="soft">{text.timeline.all}</span> : null}
          {pointed !== null && at >= 0 && pointedValue !== null && chart ? (
            <span>
              {clock(chart.start + at * chart.step_ms)} <b>{rate(pointedValue)}</b>
            </span>
          ) : extent ? (
            <>
              <span>{text.timeline.mean(rate(extent.mean))}</span>
              <span>{text.timeline.peak(rate(extent.peak), clock(extent.peakAt))}</span>
            </>
          ) : null}
        </span>
      </div>
      <div class="plot" role="group" aria-label={summary}>
        <div style={{ height: `${HEIGHT}px` }}>
          {chart ? (
            <LineChart
              chart={chart}
              window={shown}
              zone={zone}
              height={HEIGHT}
              theme={theme}
              write={axis}
              lit={lit}
            />
          ) : null}
        </div>
        <Brush
          window={shown}
          step_ms={chart?.step_ms ?? 60_000}
          chosen={lens}
          bands={
            chosen.baseline ? [{ window: chosen.baseline.window, class: "before", label: text.compare.before }] : []
          }
          startLabel={text.timeline.start}
          endLabel={text.timeline.end}
          write={(instant) => writeInstant(instant, zone)}
          pointed={pointed}
          onChoose={setLens}
          onPoint={setPointed}
        />
        {chart && !whole ? <p class="plot-empty">{text.timeline.empty}</p> : null}
      </div>
      {chart && state.group !== null && chart.lines.length + chart.tooLarge.length > 0 ? (
        <Legend
          state={state}
          chosen={chosen}
          chart={chart}
          shown={LINES_MAX}
          step={at}
          lit={lit}
          onLit={(line) => setLit(line < 0 ? null : groupOf(chart.lines[line]))}
        />
      ) : null}
      {chart && whole ? (
        <details class="as-table">
          <summary>{text.timeline.asTable}</summary>
          <ValueTable chart={chart} whole={whole} clock={clock} rate={rate} what={what} />
        </details>
      ) : null}
    </section>
  );
}

interface TableProps {
  readonly chart: Chart;
  readonly whole: Line;
  readonly clock: (instant: number) => string;
  readonly rate: (value: number) => string;
  readonly what: string;
}

/** The chart's numbers, for whoever reads better than looks. Rows exist only while it is open. */
function ValueTable({ chart, whole, clock, rate, what }: TableProps) {
  const text = useText();
  const [open, setOpen] = useState(false);
  const rows = whole.values.flatMap((value, at) =>
    value === null ? [] : [{ at: chart.start + at * chart.step_ms, value }],
  );
  return (
    <div
      class="value-table"
      ref={(element) => {
        const details = element?.closest("details");
        if (details) details.ontoggle = () => setOpen(details.open);
      }}
    >
      {open ? (
        <table>
          <thead>
            <tr>
              <th scope="col">{text.timeline.time}</th>
              <th scope="col" class="number">
                {what}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.at}>
                <th scope="row">{clock(row.at)}</th>
                <td class="number">{rate(row.value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : null}
    </div>
  );
}
