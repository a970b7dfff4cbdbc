// The instant that the whole page looks back from: every panel of one picture asks about the same "now". It moves when
// the reader asks again, chooses a range, or watches live.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

export const asOf = signal(Date.now());

export function refresh(): void {
  asOf.value = Date.now();
}

const LIVE_MS = 5000;

/** Moves "now" every few seconds while `live`; a page in the background rests. */
export function useLive(live: boolean): void {
  useEffect(() => {
    if (!live) return;
    const timer = setInterval(() => {
      if (!document.hidden) refresh();
    }, LIVE_MS);
    return () => clearInterval(timer);
  }, [live]);
}
