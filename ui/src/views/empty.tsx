// Nothing in this range: says of what, and where the nearest profile is, one press away.

import { typeName, useNumbers, useText } from "../i18n/index.ts";
import { asOf } from "../state/clock.ts";
import { type Explore, writeExplore } from "../state/explore.ts";
import { around, nearest } from "../state/nearest.ts";
import { useAnswer } from "../state/query.ts";
import type { Chosen } from "../state/selection.ts";
import { SERVICE } from "../state/selector.ts";
import { writeTime } from "../state/time.ts";
import { carried, change, place } from "../state/url.ts";
import { writeInstant } from "../state/zone.ts";
import { Link } from "../widgets/link.tsx";
import { useZone } from "./range.tsx";
import { EmptyState } from "./states.tsx";

export function EmptyRange({ state, chosen }: { readonly state: Explore; readonly chosen: Chosen }) {
  const text = useText();
  const numbers = useNumbers();
  const zone = useZone();
  const { selection, inner } = chosen;
  const now = asOf.value;
  const key = selection && `nearest ${selection.q} ${selection.type} ${inner.from} ${inner.to}`;
  const found = useAnswer(key, (signal) => {
    if (!selection) throw new Error("no selection");
    return nearest(selection, now, signal);
  });
  const show = (instant: number) => {
    const window = around(instant, chosen.outer);
    change(
      writeExplore({ from: writeTime(window.from), to: writeTime(window.to), lens: null, at: null, live: false }),
      "push",
    );
  };
  const away = (span_ms: number) => numbers.value(Math.round(span_ms) * 1e6, "nanoseconds");
  const filters = state.matchers?.filter((matcher) => matcher.name !== SERVICE) ?? [];
  const { before = null, after = null } = found.data ?? {};
  if (chosen.unknownService !== null) {
    return (
      <EmptyState title={text.states.unknownService(chosen.unknownService)}>
        <p class="actions">
          <Link class="button primary" path="" parameters={carried(place.value.parameters)}>
            {text.states.toServices}
          </Link>
          <Link class="button" path="status/ingest" parameters={carried(place.value.parameters)}>
            {text.services.missing}
          </Link>
        </p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title={text.states.emptyTitle}>
      <p>
        {text.states.emptyText(
          [chosen.service, typeName(text, chosen.type)].filter(Boolean).join(" · "),
          writeInstant(inner.from, zone),
          writeInstant(inner.to, zone),
        )}
      </p>
      {found.loading ? <p class="note">{text.states.nearestLooking}</p> : null}
      {found.data && before === null && after === null ? <p>{text.states.emptyNever}</p> : null}
      <p class="actions">
        {before === null ? null : (
          <button type="button" class="button primary" onClick={() => show(before)}>
            {text.states.nearestBefore(writeInstant(before, zone), away(inner.from - before))}
          </button>
        )}
        {after === null ? null : (
          <button type="button" class={before === null ? "button primary" : "button"} onClick={() => show(after)}>
            {text.states.nearestAfter(writeInstant(after, zone), away(after - inner.to))}
          </button>
        )}
        {filters.length > 0 ? (
          <button
            type="button"
            class="button"
            onClick={() =>
              change(
                writeExplore({ matchers: (state.matchers ?? []).filter((matcher) => matcher.name === SERVICE) }),
                "push",
              )
            }
          >
            {text.states.dropFilters}
          </button>
        ) : null}
      </p>
      <p>
        <Link path="status/ingest" parameters={carried(place.value.parameters)}>
          {text.services.missing}
        </Link>
      </p>
    </EmptyState>
  );
}
