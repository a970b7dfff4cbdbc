// What the lines of a grouped chart are: each value of the label with its mean in the part that is looked at, or its value
// where the pointer is, and its change in a comparison. Pressing one makes its line stand out and offers to filter by it.

import { visible } from "../flame/label.ts";
import { useNumbers, useText } from "../i18n/index.ts";
import { type Explore, writeExplore } from "../state/explore.ts";
import type { Chosen } from "../state/selection.ts";
import { type Chart, extentOf } from "../state/series.ts";
import { change } from "../state/url.ts";

interface Props {
  readonly state: Explore;
  readonly chosen: Chosen;
  readonly chart: Chart;
  /** How many lines the chart draws. */
  readonly shown: number;
  /** The step that is pointed at; −1 = none. */
  readonly step: number;
  /** The line that stands out; −1 = none. */
  readonly lit: number;
  readonly onLit: (line: number) => void;
}

export function Legend({ state, chosen, chart, shown, step, lit, onLit }: Props) {
  const text = useText();
  const numbers = useNumbers();
  const group = state.group ?? "";
  const rate = (value: number) => numbers.rate(value, chart.unit, chart.perSecond, text.timeline.cores);
  const before = chosen.baseline?.window ?? null;
  const rest = chart.lines.length - shown;
  const only = (value: string) => {
    const others = (state.matchers ?? []).filter((matcher) => matcher.name !== group);
    change(writeExplore({ matchers: [...others, { name: group, operator: "=", value }] }), "push");
  };
  if (chart.tooLarge.length === 0 && chart.lines.every((line) => !line.labels[group])) {
    return <p class="note legend">{text.timeline.noLabel(group)}</p>;
  }
  return (
    <ul class="legend">
      {chart.lines.slice(0, shown).map((line, at) => {
        const value = line.labels[group] ?? "";
        const name = visible(value) || text.timeline.noValue;
        const now = extentOf(chart, line, chosen.inner);
        const figure = step >= 0 ? (line.values[step] ?? null) : (now?.mean ?? null);
        const was = before && extentOf(chart, line, before);
        const changeShare = now && was && was.mean > 0 ? now.mean / was.mean - 1 : null;
        return (
          <li key={value}>
            <button
              type="button"
              aria-pressed={at === lit}
              title={text.timeline.light(name)}
              onClick={() => onLit(at === lit ? -1 : at)}
            >
              <i class="swatch" style={{ background: `var(--line-${at + 1})` }} />
              <span>{name}</span>
              {figure === null ? <span class="faint">–</span> : <b>{rate(figure)}</b>}
              {changeShare === null || step >= 0 ? null : (
                <span class={changeShare > 0.02 ? "more-text" : changeShare < -0.02 ? "less-text" : "faint"}>
                  {numbers.change(changeShare)}
                </span>
              )}
            </button>
            {at === lit && state.matchers !== null ? (
              <button type="button" class="button quiet" onClick={() => only(value)}>
                {text.timeline.show(name)}
              </button>
            ) : null}
          </li>
        );
      })}
      {chart.tooLarge.slice(0, shown).map((labels) => (
        <li key={labels[group]} class="note" title={text.services.tooLargeHint}>
          {visible(labels[group] ?? "") || text.timeline.noValue}: {text.services.tooLarge}
        </li>
      ))}
      {rest > 0 ? <li class="note">{text.timeline.others(rest, numbers.count(rest))}</li> : null}
    </ul>
  );
}
