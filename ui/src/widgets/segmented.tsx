// A choice of a few, all in sight: radio buttons that look like one control.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface Props<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: ReadonlyArray<{ readonly value: T; readonly label: ComponentChildren; readonly hint?: string }>;
  readonly onChange: (value: T) => void;
}

export function Segmented<T extends string>({ label, value, options, onChange }: Props<T>) {
  const name = useId();
  return (
    <fieldset class="segmented">
      <legend class="unseen">{label}</legend>
      {options.map((option) => (
        <label key={option.value} class={option.value === value ? "segment on" : "segment"} title={option.hint}>
          <input
            type="radio"
            class="unseen"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          {option.label}
        </label>
      ))}
    </fieldset>
  );
}
