// Comparing what is looked at with an earlier window: where the choice is made, and the line that says how the two relate
// before anybody reads colours.

import type { Tree } from "../data/flame.ts";
import { useNumbers, useText } from "../i18n/index.ts";
import { type DiffBy, type Explore, writeExplore } from "../state/explore.ts";
import type { Chosen } from "../state/selection.ts";
import { readSpan, type Window } from "../state/time.ts";
import { change } from "../state/url.ts";
import { Icon } from "../widgets/icon.tsx";
import { IconButton } from "../widgets/icon-button.tsx";
import { Menu } from "../widgets/menu.tsx";
import { Segmented } from "../widgets/segmented.tsx";
import { useZone, writeRange } from "./range.tsx";

export function CompareMenu({ state, inner }: { readonly state: Explore; readonly inner: Window }) {
  const text = useText();
  const span = inner.to - inner.from;
  const choices: ReadonlyArray<readonly [key: string, label: string, offset: number]> = [
    ["period", text.compare.period, span],
    ["hour", text.compare.hour, readSpan("1h") ?? 0],
    ["day", text.compare.day, readSpan("1d") ?? 0],
    ["week", text.compare.week, readSpan("1w") ?? 0],
  ];
  const baseline = state.baseline;
  const offset = baseline && "offset" in baseline ? baseline.offset : null;
  return (
    <Menu
      label={baseline ? text.compare.with : text.compare.start}
      align="end"
      class={baseline ? "button on" : "button"}
      button={
        <>
          <Icon name="compare" />
          <span>{text.compare.start}</span>
        </>
      }
      sections={[
        {
          title: text.compare.with,
          items: choices.map(([key, label, by]) => ({
            key,
            label,
            checked: offset === by,
            act: () => change(writeExplore({ baseline: { offset: by } }), "push"),
          })),
        },
        ...(baseline
          ? [
              {
                items: [
                  {
                    key: "stop",
                    label: text.compare.stop,
                    act: () => change(writeExplore({ baseline: null, baselineQ: null, diffBy: "absolute" }), "push"),
                  },
                ],
              },
            ]
          : []),
      ]}
    />
  );
}

const UNLIKE_FACTOR = 1.5;
const UNLIKE_COVERED = 0.05;

interface LineProps {
  readonly state: Explore;
  readonly chosen: Chosen;
  readonly tree: Tree | null;
  /** How much of either side's time has profiles; null = not known. */
  readonly covered: { readonly before: number; readonly now: number } | null;
}

export function CompareLine({ state, chosen, tree, covered }: LineProps) {
  const text = useText();
  const numbers = useNumbers();
  const zone = useZone();
  const before = chosen.baseline?.window;
  if (!before) return null;
  const totals = tree?.model.meta.totals ?? [];
  const [was = 0n, now = 0n] = totals;
  const unit = tree?.model.meta.unit ?? "";
  const length = (window: Window) => numbers.value((window.to - window.from) * 1e6, "nanoseconds");
  const ready = tree !== null && totals.length === 2;
  // Windows of unlike length cannot be compared by value; nor can totals that are far apart because data is missing.
  const lengths = (chosen.inner.to - chosen.inner.from) / (before.to - before.from);
  const unlike = lengths > UNLIKE_FACTOR || lengths < 1 / UNLIKE_FACTOR;
  const partly = was > 0n && covered !== null && Math.abs(covered.before - covered.now) > UNLIKE_COVERED;
  const doubtful = (unlike || partly) && state.diffBy === "absolute";
  const verdict = doubtful ? "faint" : now > was ? "more-text" : now < was ? "less-text" : "";
  return (
    <section class="compare-line" aria-label={text.compare.start}>
      <span class="side">
        <i class="swatch before" />
        <span class="soft">{text.compare.before}</span> {writeRange(before.from, before.to, zone)}
        {ready ? <b>{numbers.value(was, unit)}</b> : null}
      </span>
      <span class="side">
        <i class="swatch now" />
        <span class="soft">{text.compare.now}</span> {writeRange(chosen.inner.from, chosen.inner.to, zone)}
        {ready ? <b>{numbers.value(now, unit)}</b> : null}
      </span>
      {ready && was > 0n ? (
        <b class={`verdict ${verdict}`}>{numbers.change(Number(now - was) / Number(was))}</b>
      ) : null}
      {ready && was === 0n ? <span class="warn-text">{text.compare.noBefore}</span> : null}
      {ready && partly && doubtful ? (
        <span class="warn-text">
          {text.compare.partly(numbers.share(covered.before), numbers.share(covered.now))}
        </span>
      ) : ready && unlike && doubtful ? (
        <span class="warn-text">{text.compare.unlike(length(before), length(chosen.inner))}</span>
      ) : null}
      <span class="grow" />
      <Segmented<DiffBy>
        label={text.compare.mode}
        value={state.diffBy}
        options={(["absolute", "share"] as const).map((mode) => ({
          value: mode,
          label: text.compare.modes[mode],
          hint: text.compare.modeHint[mode],
        }))}
        onChange={(diffBy) => change(writeExplore({ diffBy }), "replace")}
      />
      <IconButton
        icon="close"
        label={text.compare.stop}
        onAct={() => change(writeExplore({ baseline: null, baselineQ: null, diffBy: "absolute" }), "push")}
      />
    </section>
  );
}
