// One polite live region for the whole page: what a screen reader should say without moving the focus, and the short
// note that everyone else sees.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

const said = signal<{ readonly text: string; readonly shown: boolean; readonly round: number }>({
  text: "",
  shown: false,
  round: 0,
});

/** Says something; `shown` puts it on the screen for a moment as well. */
export function announce(text: string, shown = false): void {
  said.value = { text, shown, round: said.peek().round + 1 };
}

const SHOWN_MS = 4000;

export function LiveRegion() {
  const { text, shown, round } = said.value;
  useEffect(() => {
    if (!shown) return;
    const timer = setTimeout(() => {
      if (said.peek().round === round) said.value = { ...said.peek(), shown: false };
    }, SHOWN_MS);
    return () => clearTimeout(timer);
  }, [round, shown]);
  return (
    <div class={shown ? "toast" : "unseen"} role="status" aria-live="polite">
      {text}
    </div>
  );
}
