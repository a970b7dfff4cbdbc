// Why is my service missing? What the server refused and what it changed, in its own words, and what else to look at. It
// looks again by itself, so that a client can be set right while one watches.

import * as api from "../data/api.ts";
import type { ExplainItem } from "../data/types.ts";
import { visible } from "../flame/label.ts";
import { useNumbers, useText } from "../i18n/index.ts";
import { asOf, useLive } from "../state/clock.ts";
import { readExplore } from "../state/explore.ts";
import { around } from "../state/nearest.ts";
import { useAnswer } from "../state/query.ts";
import { SERVICE, writeSelector } from "../state/selector.ts";
import { resolveWindow, writeTime } from "../state/time.ts";
import { carried, changed, type Parameters, place } from "../state/url.ts";
import { writeInstant } from "../state/zone.ts";
import { Link } from "../widgets/link.tsx";
import { useZone } from "./range.tsx";
import { ErrorState, Loading } from "./states.tsx";

function Items({ items, caption }: { readonly items: readonly ExplainItem[]; readonly caption: string }) {
  const text = useText();
  const numbers = useNumbers();
  const zone = useZone();
  return (
    <div class="table-box explain">
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            <th scope="col" class="when">
              {text.missing.when}
            </th>
            <th scope="col" class="service">
              {text.missing.service}
            </th>
            <th scope="col" class="reason">
              {text.missing.reason}
            </th>
            <th scope="col" class="number times">
              {text.missing.count}
            </th>
            <th scope="col">{text.missing.message}</th>
            <th scope="col" class="client">
              {text.missing.client}
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={`${item.reason} ${item.api} ${item.service} ${item.client}`}>
              <td class="when">{writeInstant(Date.parse(item.last), zone)}</td>
              <th scope="row" class="service">
                {visible(item.service) || <span class="faint">{text.missing.unnamed}</span>}
              </th>
              <td class="reason">
                <code>{item.reason}</code>
              </td>
              <td class="number times">{numbers.count(item.count)}</td>
              <td class="words-cell">{visible(item.example)}</td>
              <td class="client">
                {visible(item.client) || <span class="faint">{text.missing.unnamed}</span>}{" "}
                <span class="tag">{item.api}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function MissingPage() {
  const text = useText();
  const numbers = useNumbers();
  const zone = useZone();
  useLive(true);
  const now = asOf.value;
  const asked = useAnswer(`explain ${now}`, (signal) => api.explain(signal));
  const known = useAnswer(`services ${now}`, (signal) => api.services({ from: 0, to: now + 1 }, signal));
  const explained = asked.data?.data ?? null;
  const at = (time: string) => writeInstant(Date.parse(time), zone);
  const { parameters } = place.value;
  // The range that one came with, or one of that length where the service has something.
  const rangeWith = (last: number): Parameters => {
    const { from, to } = readExplore(parameters);
    const window = resolveWindow(from, to, now);
    if (last >= window.from && last < window.to) return carried(parameters);
    const near = around(last, window);
    const moved = { from: writeTime(near.from), to: writeTime(near.to), live: null };
    return changed(carried(parameters), moved);
  };
  return (
    <section class="page missing" aria-labelledby="missing-title">
      <h1 id="missing-title">{text.missing.title}</h1>
      <p class="note">{text.missing.intro}</p>
      <Loading asked={asked} />
      {asked.error && !explained ? <ErrorState error={asked.error} retry={asked.retry} /> : null}
      {explained ? (
        <>
          <p>
            {text.missing.accepted(explained.accepted, numbers.count(explained.accepted), at(explained.since))}
            {explained.accepted_last === "" ? "" : ` · ${text.missing.acceptedLast(at(explained.accepted_last))}`}
          </p>
          <h2>{text.missing.refused}</h2>
          {explained.refused.length === 0 ? (
            <p class="note">{text.missing.none}</p>
          ) : (
            <Items items={explained.refused} caption={text.missing.refused} />
          )}
          <h2>{text.missing.altered}</h2>
          {explained.altered.length === 0 ? (
            <p class="note">{text.missing.noneAltered}</p>
          ) : (
            <Items items={explained.altered} caption={text.missing.altered} />
          )}
          {explained.forgotten > 0 ? (
            <p class="note">{text.missing.forgotten(explained.forgotten, numbers.count(explained.forgotten))}</p>
          ) : null}
        </>
      ) : null}
      <h2>{text.missing.checks}</h2>
      <ul class="checks">
        {[text.missing.check1, text.missing.check2, text.missing.check3, text.missing.check4].map((check) => (
          <li key={check}>{check}</li>
        ))}
      </ul>
      {known.data && known.data.data.services.length > 0 ? (
        <>
          <h2>{text.missing.known}</h2>
          <ul class="known">
            {known.data.data.services.map((service) => (
              <li key={service.name}>
                <Link
                  path="explore"
                  parameters={[
                    ["q", writeSelector([{ name: SERVICE, operator: "=", value: service.name }])],
                    ...rangeWith(Date.parse(service.last)),
                  ]}
                >
                  {visible(service.name)}
                </Link>{" "}
                <span class="faint">{text.missing.last(at(service.last))}</span>
              </li>
            ))}
          </ul>
        </>
      ) : null}
    </section>
  );
}
