// The table of functions beside the flame graph: self and total, or before, now and change. The same numbers as the graph
// and the command line, never from a cut tree. Choosing a row shows its boxes; the search narrows it.

import { useMemo, useState } from "preact/hooks";
import { type FlameModel, type Query, timesText, totalsOf } from "../flame/index.ts";
import { useNumbers, useText } from "../i18n/index.ts";
import type { DiffBy } from "../state/explore.ts";
import {
  changeOfEntry,
  differenceOf,
  type FunctionEntry,
  matching,
  type Part,
  type SortColumn,
  sorted,
} from "../state/functions.ts";
import { FunctionName } from "../widgets/function-name.tsx";
import { Segmented } from "../widgets/segmented.tsx";
import { type Column, type Sort, VirtualTable } from "../widgets/virtual-table.tsx";

interface Props {
  readonly model: FlameModel;
  readonly entries: readonly FunctionEntry[];
  readonly query: Query | null;
  readonly diffBy: DiffBy;
  readonly chosen: string | null;
  readonly swatch: (frame: number) => string;
  readonly onChoose: (entry: FunctionEntry) => void;
  readonly onKey: (event: KeyboardEvent, entry: FunctionEntry) => void;
  readonly note: string | null;
}

function NameCell({ entry, swatch }: { readonly entry: FunctionEntry; readonly swatch: (frame: number) => string }) {
  const title = entry.file === "" ? entry.name : `${entry.name}\n${entry.file}`;
  return (
    <span class="function" title={title}>
      <i class="swatch" style={{ background: entry.frame < 0 ? "transparent" : swatch(entry.frame) }} />
      <FunctionName name={entry.name || "–"} />
    </span>
  );
}

export function FunctionTable(props: Props) {
  const { model, entries, query, diffBy, swatch } = props;
  const text = useText();
  const numbers = useNumbers();
  const compared = model.sides === 2;
  const [sort, setSort] = useState<Sort>({ column: "self", descending: true });
  const [part, setPart] = useState<Part>("self");
  const totals = totalsOf(model);
  const { unit } = model.meta;
  const known: readonly string[] = compared ? ["name", "before", "now", "change"] : ["name", "self", "total"];
  const column = (known.includes(sort.column) ? sort.column : compared ? "change" : "self") as SortColumn;
  const descending = known.includes(sort.column) ? sort.descending : true;
  const found = useMemo(() => matching(entries, query), [entries, query]);
  const rows = useMemo(
    () => sorted(found, column, descending, part, totals, diffBy),
    [found, column, descending, part, totals[0], totals[1], diffBy],
  );
  const share = (value: bigint, at: 0 | 1) =>
    numbers.share(totals[at] === 0n ? 0 : Number(value) / Number(totals[at]));
  const name: Column<FunctionEntry> = {
    key: "name",
    title: text.table.name,
    class: "name",
    cell: (row) => <NameCell entry={row} swatch={swatch} />,
  };
  const amount = (row: FunctionEntry, side: "self" | "total") => row[side][0] ?? 0n;
  const single: Column<FunctionEntry>[] = [
    {
      key: "self",
      title: text.table.self,
      numeric: true,
      class: "wide",
      cell: (row) => (
        <span title={numbers.exact(amount(row, "self"), unit)}>{numbers.value(amount(row, "self"), unit)}</span>
      ),
    },
    {
      key: "self%",
      title: text.table.selfShare,
      numeric: true,
      sort: "self",
      class: "share",
      cell: (row) => share(amount(row, "self"), 0),
    },
    {
      key: "total",
      title: text.table.total,
      numeric: true,
      class: "wide",
      cell: (row) => (
        <span title={numbers.exact(amount(row, "total"), unit)}>{numbers.value(amount(row, "total"), unit)}</span>
      ),
    },
    {
      key: "total%",
      title: text.table.totalShare,
      numeric: true,
      sort: "total",
      class: "share",
      cell: (row) => share(amount(row, "total"), 0),
    },
  ];
  const shown = (row: FunctionEntry, at: 0 | 1) => {
    const change = changeOfEntry(row, part, totals, diffBy);
    const value = at === 0 ? change.left : change.right;
    return (
      <span title={numbers.exact(value, unit)}>
        {diffBy === "share" ? share(value, at) : numbers.value(value, unit)}
      </span>
    );
  };
  const both: Column<FunctionEntry>[] = [
    { key: "before", title: text.table.before, numeric: true, class: "wide before", cell: (row) => shown(row, 0) },
    { key: "now", title: text.table.now, numeric: true, class: "wide", cell: (row) => shown(row, 1) },
    {
      key: "change",
      title: text.table.change,
      numeric: true,
      class: diffBy === "share" ? "wide points" : "wide",
      cell: (row) => {
        const change = changeOfEntry(row, part, totals, diffBy);
        const by = differenceOf(change, diffBy);
        const words = diffBy === "share" ? numbers.points(by) : numbers.difference(change.right - change.left, unit);
        return (
          <span class={change.word === "same" ? "faint" : by > 0 ? "more-text" : by < 0 ? "less-text" : "faint"}>
            {words}
          </span>
        );
      },
    },
    {
      key: "word",
      title: text.table.word,
      sortable: false,
      class: "word",
      cell: (row) => {
        const { word, times } = changeOfEntry(row, part, totals, diffBy);
        const { words } = text.table;
        return word === "more" || word === "less" ? words[word](timesText(times)) : words[word];
      },
    },
  ];
  return (
    <section class="panel functions" aria-label={text.table.functions}>
      <VirtualTable
        class={compared ? "function-table compared" : "function-table"}
        caption={text.table.functions}
        columns={[name, ...(compared ? both : single)]}
        header="name"
        rows={rows}
        rowKey={(row) => row.key}
        sort={{ column, descending }}
        onSort={(key) => setSort({ column: key, descending: key === column ? !descending : key !== "name" })}
        sortLabel={text.table.sortBy}
        chosen={props.chosen}
        onChoose={props.onChoose}
        onKey={props.onKey}
        empty={text.filters.nothing}
      />
      <div class="panel-foot">
        <span>
          {query
            ? text.table.matching(numbers.count(rows.length), numbers.count(entries.length))
            : text.table.rows(rows.length, numbers.count(rows.length))}
          {props.note ? ` · ${props.note}` : ""}
        </span>
        {compared ? (
          <Segmented<Part>
            label={text.table.part}
            value={part}
            options={[
              { value: "self", label: text.table.self },
              { value: "total", label: text.table.total },
            ]}
            onChange={setPart}
          />
        ) : null}
      </div>
    </section>
  );
}
