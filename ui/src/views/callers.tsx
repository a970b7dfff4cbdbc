// Callers and callees of one function: who pays for it and where its time goes, as two lists of bars around it. Every name
// leads on. From the tree in the page, or from the server where the tree was cut.

import { compareValues, type FlameModel, timesText, totalsOf } from "../flame/index.ts";
import { visible } from "../flame/label.ts";
import { useNumbers, useText } from "../i18n/index.ts";
import type { Around, Neighbour } from "../state/around.ts";
import type { DiffBy } from "../state/explore.ts";
import { FunctionName } from "../widgets/function-name.tsx";
import { IconButton } from "../widgets/icon-button.tsx";

interface Props {
  readonly model: FlameModel;
  readonly fn: string | null;
  readonly around: Around | null;
  readonly diffBy: DiffBy;
  readonly onChoose: (name: string) => void;
  readonly onClose: () => void;
}

const SHOWN_MAX = 40;

export function CallersPanel({ model, fn, around, diffBy, onChoose, onClose }: Props) {
  const text = useText();
  const numbers = useNumbers();
  const { unit } = model.meta;
  const totals = totalsOf(model);
  const last = model.sides - 1;
  const head = (
    <header class="panel-head">
      <h2>{fn ? text.callers.heading : text.callers.unchosen}</h2>
      <IconButton icon="close" label={text.callers.close} onAct={onClose} />
    </header>
  );
  if (!fn || !around) {
    return (
      <section class="panel callers" aria-label={text.view.callers}>
        {head}
        <p class="note padded">{text.callers.choose}</p>
      </section>
    );
  }
  const value = (values: readonly bigint[]) => values[last] ?? 0n;
  const whole = value(around.total);
  const share = (part: bigint) => (whole === 0n ? 0 : Number(part) / Number(whole));
  // In a comparison by share every number is a share of everything, as in graph and table.
  const byShare = model.sides === 2 && diffBy === "share";
  const ofAll = (part: bigint) => (totals[last] ? Number(part) / Number(totals[last]) : 0);
  const words = (values: readonly bigint[]) => {
    if (model.sides === 1) return null;
    const change = compareValues(values[0] ?? 0n, values[1] ?? 0n, totals, diffBy);
    const said =
      change.word === "more" || change.word === "less"
        ? text.table.words[change.word](timesText(change.times))
        : text.table.words[change.word];
    return (
      <small
        class={
          change.word === "more" || change.word === "new"
            ? "more-text"
            : change.word === "same"
              ? "faint"
              : "less-text"
        }
      >
        {said}
      </small>
    );
  };
  const missing = around.total.every((one) => one === 0n);
  const row = (one: Neighbour) => (
    <li key={`${one.name} ${one.file}`}>
      <button
        type="button"
        class="neighbour"
        disabled={one.name === ""}
        title={one.file === "" ? one.name : `${one.name}\n${one.file}`}
        onClick={() => onChoose(one.name)}
      >
        <span class="fill" style={{ width: `${(Math.min(1, share(value(one.value))) * 100).toFixed(2)}%` }} />
        <FunctionName name={one.name || text.callers.root} />
        {words(one.value)}
        {byShare ? null : (
          <span class="number" title={numbers.exact(value(one.value), unit)}>
            {numbers.value(value(one.value), unit)}
          </span>
        )}
        <span class="number share">{numbers.share(byShare ? ofAll(value(one.value)) : share(value(one.value)))}</span>
      </button>
    </li>
  );
  const list = (title: string, some: readonly Neighbour[], none: string) => (
    <>
      <h3>{title}</h3>
      {some.length === 0 ? <p class="note">{none}</p> : null}
      <ul>{some.slice(0, SHOWN_MAX).map(row)}</ul>
      {some.length > SHOWN_MAX ? (
        <p class="note">{text.timeline.others(some.length - SHOWN_MAX, numbers.count(some.length - SHOWN_MAX))}</p>
      ) : null}
    </>
  );
  const selfShare = share(value(around.self));
  return (
    <div class="panel callers">
      {head}
      {missing ? (
        <p class="note padded">{text.callers.notThere}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a long list scrolls, by keyboard too.
        <div class="callers-scroll" tabIndex={0} role="region" aria-label={text.callers.title(fn)}>
          {list(text.callers.callers, around.callers, text.callers.none)}
          <div class="middle">
            <code>
              <bdi>{visible(around.name)}</bdi>
            </code>
            {around.file === "" ? null : <small class="faint">{around.file}</small>}
            <dl>
              <div>
                <dt>{text.table.total}</dt>
                <dd>
                  <b title={numbers.exact(whole, unit)}>{numbers.value(whole, unit)}</b> {numbers.share(ofAll(whole))}{" "}
                  {words(around.total)}
                </dd>
              </div>
              <div>
                <dt>{text.table.self}</dt>
                <dd>
                  <b title={numbers.exact(value(around.self), unit)}>{numbers.value(value(around.self), unit)}</b>{" "}
                  {numbers.share(ofAll(value(around.self)))} {words(around.self)}
                </dd>
              </div>
            </dl>
          </div>
          {list(text.callers.callees, around.callees, text.callers.noCallees)}
          {selfShare > 0 && around.callees.length > 0 ? (
            <div class="neighbour itself">
              <span class="fill" style={{ width: `${(Math.min(1, selfShare) * 100).toFixed(2)}%` }} />
              <span class="itself-name">{text.callers.itself}</span>
              {byShare ? null : <span class="number">{numbers.value(value(around.self), unit)}</span>}
              <span class="number share">{numbers.share(byShare ? ofAll(value(around.self)) : selfShare)}</span>
            </div>
          ) : null}
        </div>
      )}
    </div>
  );
}
