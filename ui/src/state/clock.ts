// The instant that the whole page looks back from: every panel of one picture asks about the same "now". It moves when
// the reader asks again, chooses a range, or watches live. It is the server's now: a browser whose clock is far off would
// look where there is nothing yet, or nothing any more.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { hearServerTime } from "../data/http.ts";

/** Less is not worth asking again: answers take their time, and the server's word has whole seconds. */
const OFF_MIN_MS = 30_000;
let off_ms = 0;

export const asOf = signal(Date.now());

export function refresh(): void {
  asOf.value = Date.now() + off_ms;
}

hearServerTime((instant) => {
  const off = instant - Date.now();
  if (Math.abs(off - off_ms) < OFF_MIN_MS) return;
  off_ms = Math.abs(off) < OFF_MIN_MS ? 0 : off;
  refresh();
});

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
