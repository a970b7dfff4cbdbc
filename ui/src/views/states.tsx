// The states that a view can be in besides full: nothing yet, nothing here, loading, stopped, failed. Each says why and
// offers the next step; none is a spinner alone.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError } from "../data/http.ts";
import { useText } from "../i18n/index.ts";
import type { Asked } from "../state/query.ts";
import { copyText } from "../widgets/copy.ts";
import { Icon } from "../widgets/icon.tsx";

export function ErrorState({ error, retry }: { readonly error: unknown; readonly retry: () => void }) {
  const text = useText();
  const api = error instanceof ApiError ? error : null;
  const message = error instanceof Error ? error.message : String(error);
  const unreachable = api?.status === 0;
  // What was asked is at fault: asking again gives the same answer, another question may not.
  const refused = api?.status === 400;
  const fields: Readonly<Record<string, string>> = text.states.fields;
  const report = [api ? `${api.status} ${api.request}` : "", message].filter(Boolean).join("\n");
  return (
    <section class="state bad" role="alert">
      <h2>
        <Icon name="warn" />{" "}
        {unreachable ? text.states.unreachable : refused ? text.states.refused : text.states.error}
      </h2>
      <pre class="words">{message}</pre>
      <p class="note">
        {[
          api && api.status > 0 ? text.states.status(String(api.status)) : "",
          api?.field ? (fields[api.field] ?? text.states.wrongField(api.field)) : "",
          api?.status === 401 ? text.states.secret : "",
          api?.retryAfter_s ? text.states.retryIn(String(api.retryAfter_s)) : "",
        ]
          .filter(Boolean)
          .join(" · ")}
      </p>
      <p class="actions">
        {refused ? (
          history.length > 1 ? (
            <button type="button" class="button primary" onClick={() => history.back()}>
              {text.states.goBack}
            </button>
          ) : null
        ) : (
          <button type="button" class="button primary" onClick={retry}>
            {text.states.again}
          </button>
        )}
        <button
          type="button"
          class="button"
          onClick={() => void copyText(report, text.out.copied(text.out.theMessage), text.out.notCopied)}
        >
          {text.states.copyError}
        </button>
      </p>
    </section>
  );
}

const PATIENCE_MS = 300;

/** A thin bar with words and a way to stop, for what takes longer than a blink. Takes no room of its own. */
export function Loading({
  asked,
}: {
  readonly asked: Pick<Asked<unknown>, "loading" | "cancelled" | "cancel" | "retry">;
}) {
  const text = useText();
  const [waited_ms, setWaited] = useState(0);
  useEffect(() => {
    setWaited(0);
    if (!asked.loading) return;
    const began = performance.now();
    const timer = setInterval(() => setWaited(performance.now() - began), PATIENCE_MS);
    return () => clearInterval(timer);
  }, [asked.loading]);
  if (asked.cancelled) {
    return (
      <p class="loading stopped" role="status">
        {text.states.cancelled}{" "}
        <button type="button" class="button" onClick={asked.retry}>
          {text.states.again}
        </button>
      </p>
    );
  }
  if (!asked.loading || waited_ms < PATIENCE_MS) return null;
  return (
    <p class="loading" role="status">
      <span class="bar" aria-hidden="true" />
      <span>{waited_ms < 2000 ? text.states.loading : text.states.loadingLong((waited_ms / 1000).toFixed(0))}</span>
      <button type="button" class="button" onClick={asked.cancel}>
        {text.states.cancel}
      </button>
    </p>
  );
}

export function EmptyState({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="state">
      <h2>{title}</h2>
      {children}
    </section>
  );
}
