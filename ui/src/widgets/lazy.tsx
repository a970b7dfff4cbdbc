// Parts of the page that are fetched when they are first shown: other pages, panels that are usually closed, the other
// language. Shows nothing until they are there. Where the fetch fails (the server is away, or has another build) it says
// so and tries again, on its own or when asked.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useText } from "../i18n/index.ts";

const AGAIN_MS = 3000;

function NotThere({ again }: { readonly again: () => void }) {
  const text = useText();
  useEffect(() => {
    const timer = setInterval(again, AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <section class="state bad" role="alert">
      <h2>{text.states.unreachable}</h2>
      <p class="actions">
        <button type="button" class="button primary" onClick={again}>
          {text.states.again}
        </button>
      </p>
    </section>
  );
}

export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let ready: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const [round, setRound] = useState(0);
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      if (ready) return;
      let gone = false;
      load().then(
        (found) => {
          ready = found;
          if (!gone) setRound((n) => n + 1);
        },
        () => {
          if (!gone) setFailed(true);
        },
      );
      return () => {
        gone = true;
      };
    }, [round]);
    const Found = ready;
    if (Found) return <Found {...props} />;
    return failed ? <NotThere again={() => setRound((n) => n + 1)} /> : null;
  };
}
