// What the lines of a grouped chart are: each value of the label with its mean in the part that is looked at and, in a
// comparison, before and now. Pressing one shows only that value.

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
}

export function Legend({ state, chosen, chart, shown }: Props) {
  const text = useText();
  const numbers = useNumbers();
  const group = state.group ?? "";
  const rate = (value: number) => numbers.rate(value, chart.unit, chart.perSecond, text.timeline.cores);
  const before = chosen.baseline?.window ?? null;
  const rest = chart.lines.length - shown;
  const only = (value: string) => {
    const others = (state.matchers ?? []).filter((matcher) => matcher.name !== group);
    change(writeExplore({ matchers: [...others, { name: group, operator: "=", value }], group: null }), "push");
  };
  return (
    <ul class="legend">
      {chart.lines.slice(0, shown).map((line, at) => {
        const value = line.labels[group] ?? "";
        const now = extentOf(chart, line, chosen.inner);
        const was = before && extentOf(chart, line, before);
        const changeShare = now && was && was.mean > 0 ? now.mean / was.mean - 1 : null;
        return (
          <li key={value}>
            <button
              type="button"
              disabled={state.matchers === null}
              title={text.timeline.show(value || text.timeline.noValue)}
              onClick={() => only(value)}
            >
              <i class="swatch" style={{ background: `var(--line-${at + 1})` }} />
              <span>{visible(value) || text.timeline.noValue}</span>
              {now ? <b>{rate(now.mean)}</b> : <span class="faint">–</span>}
              {changeShare === null ? null : (
                <span class={changeShare > 0.02 ? "more-text" : changeShare < -0.02 ? "less-text" : "faint"}>
                  {numbers.change(changeShare)}
                </span>
              )}
            </button>
          </li>
        );
      })}
      {rest > 0 ? <li class="note">{text.timeline.others(rest, numbers.count(rest))}</li> : null}
    </ul>
  );
}
