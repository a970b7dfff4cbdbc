// Questions that are being answered: `useAnswer` asks when its key changes, cancels what nobody waits for any more, and
// keeps the last answer while the next one is under way, so that a picture is dimmed and not taken away.

import { useEffect, useRef, useState } from "preact/hooks";

export interface Asked<T> {
  /** The newest answer there is; of an older question while `loading`. */
  readonly data: T | null;
  readonly error: unknown;
  readonly loading: boolean;
  /** The reader stopped it. */
  readonly cancelled: boolean;
  /** Whether `data` answers the present question. */
  readonly current: boolean;
  readonly cancel: () => void;
  readonly retry: () => void;
}

interface Held<T> {
  readonly key: string | null;
  readonly data: T | null;
  readonly dataKey: string | null;
  readonly error: unknown;
  readonly loading: boolean;
  readonly cancelled: boolean;
}

/**
 * Asks `load` whenever `key` changes; a null key asks nothing. `family` says when an older answer may still be shown:
 * while it stays the same (another range of the same service), not when it changes (another service).
 */
export function useAnswer<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>, family = ""): Asked<T> {
  const [held, setHeld] = useState<Held<T>>({
    key: null,
    data: null,
    dataKey: null,
    error: null,
    loading: key !== null,
    cancelled: false,
  });
  const [round, setRound] = useState(0);
  const controller = useRef<AbortController | null>(null);
  const newest = useRef(load);
  newest.current = load;
  const familyNow = useRef(family);

  useEffect(() => {
    const keep = familyNow.current === family;
    familyNow.current = family;
    if (key === null) {
      setHeld({ key: null, data: null, dataKey: null, error: null, loading: false, cancelled: false });
      return;
    }
    const mine = new AbortController();
    controller.current = mine;
    setHeld((before) => ({
      key,
      data: keep ? before.data : null,
      dataKey: keep ? before.dataKey : null,
      error: null,
      loading: true,
      cancelled: false,
    }));
    newest.current(mine.signal).then(
      (data) => {
        if (mine.signal.aborted) return;
        setHeld({ key, data, dataKey: key, error: null, loading: false, cancelled: false });
      },
      (error: unknown) => {
        if (mine.signal.aborted) return;
        setHeld((before) => ({ ...before, error, loading: false }));
      },
    );
    return () => mine.abort();
  }, [key, family, round]);

  const fresh = held.key === key;
  return {
    data: familyNow.current === family ? held.data : null,
    error: fresh ? held.error : null,
    loading: key !== null && (!fresh || held.loading),
    cancelled: fresh && held.cancelled,
    current: held.dataKey === key && key !== null,
    cancel: () => {
      controller.current?.abort();
      setHeld((before) => ({ ...before, loading: false, cancelled: true }));
    },
    retry: () => setRound((n) => n + 1),
  };
}
