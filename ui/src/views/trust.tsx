// What a picture is made of, in one line under it: whoever decides by it should know how much there was, how much was left
// out, and how long it took.

import type { Tree } from "../data/flame.ts";
import type { Labels } from "../data/types.ts";
import { useNumbers, useText } from "../i18n/index.ts";
import { fits, type Matcher } from "../state/selector.ts";

/** Labels that name a machine or a process of one, best first. */
const HOST_LABELS = ["host", "hostname", "host.name", "node", "instance", "pod", "k8s.pod.name"];

function hostsOf(series: readonly Labels[] | null): number | null {
  if (!series) return null;
  for (const label of HOST_LABELS) {
    const values = new Set(series.map((labels) => labels[label]).filter((value) => value !== undefined));
    if (values.size > 0) return values.size;
  }
  return null;
}

interface Props {
  readonly tree: Tree | null;
  /** Label sets of the service, and the filters that choose among them; null = not known. */
  readonly series: readonly Labels[] | null;
  readonly matchers: readonly Matcher[] | null;
}

export function Trust({ tree, series, matchers }: Props) {
  const text = useText();
  const numbers = useNumbers();
  if (!tree) return <section class="trust" aria-label={text.trust.title} />;
  const { stats, model } = tree;
  const total = Number(model.meta.totals.reduce((sum, value) => sum + value, 0n));
  const share = (value: number | bigint) => (total > 0 ? Number(value) / total : 0);
  const hosts = matchers && hostsOf(series?.filter((labels) => fits(labels, matchers)) ?? null);
  const count = (value: number) => numbers.count(value);
  const parts: { readonly key: string; readonly words: string; readonly hint?: string; readonly bad?: boolean }[] = [
    ...(model.sides === 2 ? [{ key: "both", words: text.trust.both }] : []),
    { key: "profiles", words: text.trust.profiles(stats.profiles, count(stats.profiles)) },
    { key: "samples", words: text.trust.samples(stats.samples, count(stats.samples)) },
    { key: "series", words: text.trust.series(count(stats.series)) },
    ...(hosts === null ? [] : [{ key: "hosts", words: text.trust.hosts(hosts, count(hosts)) }]),
    { key: "bytes", words: text.trust.scanned(numbers.value(stats.bytes_scanned, "bytes")) },
    stats.cut_nodes > 0
      ? {
          key: "cut",
          words: text.trust.cut(numbers.share(share(stats.cut_value)), stats.cut_nodes, count(stats.cut_nodes)),
          bad: true,
        }
      : { key: "cut", words: text.trust.uncut, hint: text.trust.uncutHint },
    Number(stats.unsymbolised_value) > 0
      ? { key: "symbols", words: text.trust.unsymbolised(numbers.share(share(stats.unsymbolised_value))), bad: true }
      : { key: "symbols", words: text.trust.symbolised, hint: text.trust.symbolisedHint },
    ...(stats.aggregation === "avg" ? [{ key: "average", words: text.trust.average }] : []),
    { key: "took", words: text.trust.took(count(Math.max(1, Math.round(tree.took_ms)))) },
  ];
  return (
    <section class="trust" aria-label={text.trust.title}>
      <ul>
        {parts.map((part) => (
          <li key={part.key} class={part.bad ? "warn-text" : ""} title={part.hint}>
            {part.words}
          </li>
        ))}
        {stats.notices.map((notice) => (
          <li key={notice} class="warn-text">
            {text.trust.note}: {notice}
          </li>
        ))}
      </ul>
    </section>
  );
}
