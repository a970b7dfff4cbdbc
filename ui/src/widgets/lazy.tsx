// Parts of the page that are fetched when they are first shown: other pages, panels that are usually closed, the other
// language. Shows nothing until they are there; a failed fetch is tried again the next time.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let ready: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const [, setRound] = useState(0);
    useEffect(() => {
      if (ready) return;
      let gone = false;
      load().then(
        (found) => {
          ready = found;
          if (!gone) setRound((n) => n + 1);
        },
        () => {
          // The server was restarted with another build, or cannot be reached: the page's other questions say so.
        },
      );
      return () => {
        gone = true;
      };
    }, []);
    const Found = ready;
    return Found ? <Found {...props} /> : null;
  };
}
