// The start page: which services there are, how much each uses, how that changed, and its hottest function. A row leads to
// Explore. Asks three questions for the whole list and one more for each row in sight.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import * as api from "../data/api.ts";
import { Queue } from "../data/queue.ts";
import { visible } from "../flame/label.ts";
import { typeName, useNumbers, useText } from "../i18n/index.ts";
import { asOf, refresh } from "../state/clock.ts";
import { readExplore, writeExplore } from "../state/explore.ts";
import { defaultType, findType, readType, shortType } from "../state/profile-type.ts";
import { useAnswer } from "../state/query.ts";
import { SERVICE, writeSelector } from "../state/selector.ts";
import { aligned, chartOf, stepFor } from "../state/series.ts";
import { type ServiceRow, serviceRows } from "../state/service-rows.ts";
import { resolveWindow, type Window, writeTime } from "../state/time.ts";
import { carried, change, go, type Parameters, parameter, place } from "../state/url.ts";
import { writeInstant } from "../state/zone.ts";
import { FunctionName } from "../widgets/function-name.tsx";
import { lazy } from "../widgets/lazy.tsx";
import { Link } from "../widgets/link.tsx";
import { Sparkline } from "../widgets/sparkline.tsx";
import { type Sort, VirtualTable } from "../widgets/virtual-table.tsx";
import { useZone, writeRange } from "./range.tsx";
import { EmptyState, ErrorState, Loading } from "./states.tsx";
import { TypeMenu } from "./type-menu.tsx";

const FirstStart = lazy(async () => (await import("./first.tsx")).FirstStart);
const hottest = new Queue(2);
const FIRST_MS = 2000;
/** A short list that ends now is asked again by itself; a long one costs too much for that, there is the live button. */
const SHORT_MAX = 20;
const SHORT_MS = 10_000;

function Hottest({
  service,
  type,
  window,
}: {
  readonly service: string;
  readonly type: string;
  readonly window: Window;
}) {
  const numbers = useNumbers();
  const q = writeSelector([{ name: SERVICE, operator: "=", value: service }]);
  const answer = useAnswer(
    `${q} ${type} ${window.from} ${window.to}`,
    (signal) => hottest.run((inner) => api.top({ q, type, window }, 1, inner), signal),
    q + type,
  );
  const row = answer.data?.data.rows[0];
  if (!row) return <span class="faint">{answer.loading ? "…" : "–"}</span>;
  const share = Number(row.self) / Number(answer.data?.data.total ?? 1);
  return (
    <span class="hottest">
      <b class="number">{numbers.share(share)}</b>
      <span class="hot-name" title={row.name}>
        <FunctionName name={row.name} />
      </span>
    </span>
  );
}

export function ServicesPage() {
  const text = useText();
  const numbers = useNumbers();
  const zone = useZone();
  const { parameters } = place.value;
  const state = readExplore(parameters);
  const now = asOf.value;
  const window = resolveWindow(state.from, state.to, now);
  const all = useAnswer(`services ${now}`, (signal) => api.services({ from: 0, to: now + 1 }, signal));
  const services = all.data?.data.services ?? null;
  const everyType = useMemo(() => services?.flatMap((service) => service.types).sort() ?? [], [services]);
  const types = useMemo(() => [...new Set(everyType)], [everyType]);
  const type = (state.type ? findType(state.type, types) : null) ?? defaultType(everyType);

  const step = stepFor(window);
  const whole = aligned(window, step);
  const key = type ? `${type.full} ${whole.from} ${whole.to} ${step}` : null;
  const family = type?.full ?? "";
  const current = useAnswer(
    key,
    (signal) => api.timeline({ q: "", type: type?.full ?? null, window: whole }, step, SERVICE, signal),
    family,
  );
  const span = whole.to - whole.from;
  const earlier = useAnswer(
    key,
    (signal) =>
      api.timeline(
        { q: "", type: type?.full ?? null, window: { from: whole.from - span, to: whole.from } },
        step,
        SERVICE,
        signal,
      ),
    family,
  );

  // Until the first profile arrives the page looks again by itself, and goes on to watch live from then.
  const nothingYet = services !== null && services.length === 0;
  const waited = useRef(false);
  useEffect(() => {
    if (!nothingYet) return;
    waited.current = true;
    const timer = setInterval(refresh, FIRST_MS);
    return () => clearInterval(timer);
  }, [nothingYet]);
  useEffect(() => {
    if (!waited.current || services === null || services.length === 0) return;
    waited.current = false;
    change(writeExplore({ live: true }), "replace");
  }, [services]);

  const keepsUp =
    state.to === "now" && !state.live && services !== null && services.length > 0 && services.length <= SHORT_MAX;
  useEffect(() => {
    if (!keepsUp) return;
    const timer = setInterval(() => {
      if (!document.hidden) refresh();
    }, SHORT_MS);
    return () => clearInterval(timer);
  }, [keepsUp]);

  const [sort, setSort] = useState<Sort>({ column: "usage", descending: true });
  const filter = parameter(parameters, "s") ?? "";
  const rows = useMemo(
    () =>
      serviceRows(
        services ?? [],
        type,
        current.data ? chartOf(current.data.data) : null,
        earlier.data ? chartOf(earlier.data.data) : null,
        filter,
        sort,
      ),
    [services, type?.full, current.data, earlier.data, filter, sort],
  );

  if (all.error && !services) return <ErrorState error={all.error} retry={all.retry} />;
  if (!services) return <Loading asked={all} />;
  if (nothingYet) return <FirstStart />;

  const leads = (row: ServiceRow): Parameters => {
    const q = writeSelector([{ name: SERVICE, operator: "=", value: row.name }]);
    const short = type && row.types.includes(type.full) ? shortType(type.full, row.types) : null;
    const pairs: [string, string][] = [["q", q]];
    if (short && defaultType(row.types)?.full !== type?.full) pairs.push(["t", short]);
    return [...pairs, ...carried(parameters)];
  };
  const used = rows.filter((row) => row.usage !== null || row.tooLarge);
  const quiet = rows.length - used.length;
  const unit = type ? readType(type.full).unit : "";
  const against = text.services.changeHint(writeRange(whole.from - span, whole.from, zone));
  const nothingBefore = earlier.data !== null && earlier.data.data.series.length === 0;

  return (
    <section class="page services" aria-labelledby="services-title">
      <div class="page-head">
        <h1 id="services-title">{text.services.title}</h1>
        <input
          class="input filter"
          type="search"
          data-search
          aria-label={text.services.filter}
          placeholder={text.services.filter}
          value={filter}
          onInput={(event) => change({ s: event.currentTarget.value || null }, "replace")}
          onKeyDown={(event) => {
            const [only] = rows;
            if (event.key === "Enter" && only && rows.length === 1) go("explore", leads(only), "push");
          }}
        />
        <TypeMenu types={types} chosen={type} onChoose={(full) => change({ t: full }, "push")} />
        <span class="note grow">
          {text.services.count(used.length, numbers.count(used.length))}
          {quiet > 0 ? ` · ${text.services.quiet(quiet, numbers.count(quiet))}` : ""}
          <span class="against">{` · ${against}${nothingBefore ? ` (${text.services.noneBefore})` : ""}`}</span>
        </span>
        <Link path="status/ingest" parameters={carried(parameters)}>
          {text.services.missing}
        </Link>
      </div>
      {current.error ? <ErrorState error={current.error} retry={current.retry} /> : null}
      <Loading asked={current} />
      {current.current && used.length === 0 && filter === "" ? (
        <EmptyState title={text.states.emptyTitle}>
          <p>{text.states.emptyText(typeName(text, type), ...splitRange(window, zone))}</p>
          <p class="actions">
            {newest(services) ? (
              <button type="button" class="button primary" onClick={() => goTo(newest(services), window)}>
                {newest(services) < window.from
                  ? text.states.nearestBefore(
                      writeInstant(newest(services), zone),
                      numbers.value((window.from - newest(services)) * 1e6, "nanoseconds"),
                    )
                  : `${text.services.lastSeen}: ${writeInstant(newest(services), zone)}`}
              </button>
            ) : null}
          </p>
        </EmptyState>
      ) : null}
      <VirtualTable
        class={current.loading && !current.current ? "services-table stale" : "services-table"}
        caption={text.services.table}
        rowHeight={36}
        header="service"
        rows={rows}
        rowKey={(row) => row.name}
        chosen={null}
        onChoose={(row) => go("explore", leads(row), "push")}
        sort={sort}
        onSort={(column) =>
          setSort({ column, descending: column === sort.column ? !sort.descending : column !== "service" })
        }
        sortLabel={text.table.sortBy}
        empty={text.services.noMatch}
        columns={[
          {
            key: "service",
            title: text.services.service,
            class: "name",
            cell: (row) => (
              <Link path="explore" parameters={leads(row)} title={text.services.open(row.name)}>
                {visible(row.name)}
              </Link>
            ),
          },
          {
            key: "usage",
            title: typeName(text, type),
            numeric: true,
            class: "usage",
            cell: (row) =>
              row.tooLarge ? (
                <span class="warn-text" title={text.services.tooLargeHint}>
                  {text.services.tooLarge}
                </span>
              ) : row.usage === null ? (
                <span class="faint">–</span>
              ) : (
                numbers.rate(row.usage, unit, row.perSecond, text.timeline.cores)
              ),
          },
          {
            key: "change",
            title: text.services.change,
            hint: against,
            numeric: true,
            class: "change",
            cell: (row) =>
              row.change === "new" ? (
                text.services.isNew
              ) : row.change === null ? (
                <span
                  class="faint"
                  title={
                    row.tooLarge
                      ? text.services.tooLargeHint
                      : row.usage === null
                        ? text.services.noneHere
                        : text.services.noneBefore
                  }
                >
                  –
                </span>
              ) : (
                numbers.change(row.change)
              ),
          },
          {
            key: "trend",
            title: text.services.trend,
            sortable: false,
            class: "trend",
            cell: (row) =>
              row.values.length > 0 ? (
                <Sparkline
                  values={row.values}
                  summary={text.services.trendSummary(
                    numbers.rate(row.peak, unit, row.perSecond, text.timeline.cores),
                  )}
                />
              ) : null,
          },
          {
            key: "hottest",
            title: text.services.hottest,
            sortable: false,
            class: "hot",
            cell: (row) =>
              row.usage === null || !type ? (
                <span class="faint">–</span>
              ) : (
                <Hottest service={row.name} type={type.full} window={whole} />
              ),
          },
          {
            key: "last",
            title: text.services.lastSeen,
            numeric: true,
            class: "last",
            cell: (row) => <time dateTime={new Date(row.last).toISOString()}>{writeInstant(row.last, zone)}</time>,
          },
        ]}
      />
    </section>
  );
}

function splitRange(window: Window, zone: string): [string, string] {
  const [from = "", to = ""] = writeRange(window.from, window.to, zone).split(" – ");
  return [from, to];
}

function newest(services: readonly { readonly last: string }[]): number {
  return Math.max(0, ...services.map((service) => Date.parse(service.last)));
}

/** Moves the range so that an instant lies near its end. */
function goTo(instant: number, window: Window): void {
  const span = window.to - window.from;
  const to = Math.ceil((instant + span * 0.1) / 60_000) * 60_000;
  change({ from: writeTime(to - span), to: writeTime(to), lens: null }, "push");
}
