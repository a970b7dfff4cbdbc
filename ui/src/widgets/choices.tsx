// A list to choose from by typing: an input over a listbox, as in the ARIA pattern of a combobox. At most LIMIT options
// are alive; how many more there are is said.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { visible } from "../flame/label.ts";
import { useNumbers, useText } from "../i18n/index.ts";

export interface Choice {
  readonly key: string;
  readonly label: string;
  /** Shown at the right: a count, a value. */
  readonly aside?: ComponentChildren;
  readonly chosen?: boolean;
}

interface Props {
  readonly label: string;
  readonly choices: readonly Choice[] | null;
  readonly onChoose: (key: string) => void;
  /** What may be typed besides the choices, such as a pattern. */
  readonly onText?: (text: string) => void;
  readonly initial?: string;
}

const LIMIT = 100;

export function Choices({ label, choices, onChoose, onText, initial = "" }: Props) {
  const text = useText();
  const numbers = useNumbers();
  const id = useId();
  const [typed, setTyped] = useState(initial);
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  // A second step takes the place of the first with the keys still on it.
  useEffect(() => input.current?.focus(), []);
  const wanted = typed.trim().toLowerCase();
  const found = (choices ?? []).filter(
    (choice) => wanted === initial.toLowerCase() || choice.label.toLowerCase().includes(wanted),
  );
  const shown = found.slice(0, LIMIT);
  const free = onText !== undefined && typed.trim() !== "" && !shown.some((choice) => choice.label === typed.trim());
  const count = shown.length + (free ? 1 : 0);
  const active = Math.min(at, Math.max(0, count - 1));

  useEffect(() => {
    list.current?.querySelector(`[data-at="${active}"]`)?.scrollIntoView({ block: "nearest" });
  }, [active]);

  const choose = (position: number) => {
    const choice = shown[position];
    if (choice) onChoose(choice.key);
    else if (free) onText?.(typed.trim());
  };
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
  const pressed = (event: KeyboardEvent) => {
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt(Math.max(0, Math.min(count - 1, active + step)));
    } else if (event.key === "Enter" && count > 0) {
      event.preventDefault();
      choose(active);
    }
  };

  return (
    <div class="choices">
      <input
        ref={input}
        data-first
        class="input"
        type="text"
        role="combobox"
        aria-label={label}
        aria-expanded="true"
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={count > 0 ? `${id}-${active}` : undefined}
        placeholder={text.filters.find}
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={pressed}
      />
      <div id={id} ref={list} class="options" role="listbox" aria-label={label}>
        {shown.map((choice, n) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled by the input, as the pattern has it.
          <div
            key={choice.key}
            id={`${id}-${n}`}
            data-at={n}
            class={n === active ? "option active" : "option"}
            role="option"
            tabIndex={-1}
            aria-selected={choice.chosen ?? false}
            onMouseMove={() => setAt(n)}
            onClick={() => choose(n)}
          >
            <span class="option-name">{visible(choice.label)}</span>
            {choice.aside === undefined ? null : <span class="option-aside">{choice.aside}</span>}
          </div>
        ))}
        {free ? (
          // biome-ignore lint/a11y/useKeyWithClickEvents: as above.
          <div
            id={`${id}-${shown.length}`}
            data-at={shown.length}
            class={active === shown.length ? "option active" : "option"}
            role="option"
            tabIndex={-1}
            aria-selected="false"
            onClick={() => choose(shown.length)}
          >
            {text.filters.use(typed.trim())}
          </div>
        ) : null}
      </div>
      {choices === null ? <p class="note">{text.filters.loading}</p> : null}
      {choices !== null && count === 0 ? <p class="note">{text.filters.nothing}</p> : null}
      {found.length > LIMIT ? <p class="note">{text.filters.more(numbers.count(found.length - LIMIT))}</p> : null}
    </div>
  );
}
