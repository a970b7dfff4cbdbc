// Making or changing one label filter: first the label, then how and what; with counts beside both, given the others.

import { useState } from "preact/hooks";
import type { Labels } from "../data/types.ts";
import { useNumbers, useText } from "../i18n/index.ts";
import { fits, isBadPattern, type Matcher, type Operator, SERVICE } from "../state/selector.ts";
import { Choices } from "../widgets/choices.tsx";
import { IconButton } from "../widgets/icon-button.tsx";
import { Segmented } from "../widgets/segmented.tsx";

const OPERATORS: readonly Operator[] = ["=", "!=", "=~", "!~"];

function counted(values: Iterable<string>): [value: string, count: number][] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
}

interface EditorProps {
  readonly series: readonly Labels[] | null;
  readonly others: readonly Matcher[];
  readonly matcher: Matcher | null;
  readonly onDone: (matcher: Matcher) => void;
}

/** First the label, then the value: two steps of one list. */
export function FilterEditor({ series, others, matcher, onDone }: EditorProps) {
  const text = useText();
  const numbers = useNumbers();
  const [name, setName] = useState(matcher?.name ?? null);
  const [operator, setOperator] = useState<Operator>(matcher?.operator ?? "=");
  const [bad, setBad] = useState(false);
  const pattern = operator === "=~" || operator === "!~";
  const done = (value: string) => {
    const wrong = pattern && isBadPattern(value);
    setBad(wrong);
    if (!wrong && name !== null) onDone({ name, operator, value });
  };
  if (name === null) {
    const sets = series?.filter((labels) => fits(labels, others)) ?? null;
    const values = new Map<string, Set<string>>();
    for (const labels of sets ?? []) {
      for (const [label, value] of Object.entries(labels)) {
        if (label === SERVICE) continue;
        const known = values.get(label) ?? new Set();
        values.set(label, known.add(value));
      }
    }
    const choices = [...values].sort((a, b) => a[0].localeCompare(b[0]));
    return (
      <Choices
        key="label"
        label={text.filters.label}
        choices={
          sets &&
          choices.map(([label, known]) => ({
            key: label,
            label,
            aside: text.filters.values(known.size, numbers.count(known.size)),
          }))
        }
        onChoose={setName}
        onText={setName}
      />
    );
  }
  const rest = others.filter((other) => other !== matcher);
  const sets = series?.filter((labels) => fits(labels, rest)) ?? null;
  return (
    <div class="filter-editor">
      <div class="filter-head">
        {matcher === null ? <IconButton icon="left" label={text.filters.back} onAct={() => setName(null)} /> : null}
        <code>{name}</code>
        <Segmented
          label={text.filters.operator}
          value={operator}
          options={OPERATORS.map((one) => ({
            value: one,
            label: <code>{one}</code>,
            hint: text.filters.operators[one],
          }))}
          onChange={setOperator}
        />
      </div>
      <Choices
        key="value"
        label={text.filters.value(name)}
        initial={pattern ? (matcher?.value ?? "") : ""}
        choices={
          pattern
            ? []
            : sets &&
              counted(sets.map((labels) => labels[name] ?? "").filter((value) => value !== "")).map(
                ([value, count]) => ({
                  key: value,
                  label: value,
                  chosen: value === matcher?.value,
                  aside: text.filters.series(numbers.count(count)),
                }),
              )
        }
        onChoose={done}
        onText={done}
      />
      {bad && pattern ? (
        <p class="bad-text filter-note" role="alert">
          {text.view.badPattern}
        </p>
      ) : null}
      {pattern ? <p class="note filter-note">{text.filters.pattern}</p> : null}
    </div>
  );
}
