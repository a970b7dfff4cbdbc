// A real table whose rows exist only where they can be seen: sticky header, sorting by column, arrow keys along the rows.
// At most as many rows are alive as fit in the box and a few more; assistive technology is told the true count.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  readonly hint?: string;
  readonly numeric?: boolean;
  readonly sortable?: boolean;
  /** The column by whose values this one is sorted, where that is another. */
  readonly sort?: string;
  readonly class?: string;
  readonly cell: (row: Row) => ComponentChildren;
}

export interface Sort {
  readonly column: string;
  readonly descending: boolean;
}

interface Props<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** Which column is the row's name. */
  readonly header: string;
  readonly sort: Sort;
  readonly onSort: (column: string) => void;
  readonly sortLabel: (column: string) => string;
  readonly chosen: string | null;
  readonly onChoose: (row: Row) => void;
  readonly onKey?: (event: KeyboardEvent, row: Row) => void;
  readonly empty: string;
  readonly rowHeight?: number;
  readonly class?: string;
}

const ROW = 28;
const SPARE = 4;

export function VirtualTable<Row>(props: Props<Row>) {
  const { columns, rows, rowKey, sort, rowHeight = ROW } = props;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const [active, setActive] = useState(0);
  const takeFocus = useRef(false);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const sized = new ResizeObserver(measure);
    sized.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    measure();
    return () => {
      sized.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);

  // A function chosen elsewhere is brought into sight.
  const chosenAt = props.chosen === null ? -1 : rows.findIndex((row) => rowKey(row) === props.chosen);
  useEffect(() => {
    if (chosenAt >= 0) {
      setActive(chosenAt);
      bring(chosenAt);
    }
  }, [chosenAt, props.chosen]);

  const bring = (at: number) => {
    const element = box.current;
    if (!element) return;
    const head = rowHeight;
    const top = at * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight + head > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + rowHeight + head - element.clientHeight;
    }
  };

  const current = Math.min(active, Math.max(0, rows.length - 1));
  const first = Math.max(0, Math.floor(view.top / rowHeight) - SPARE);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / rowHeight) + SPARE);
  useEffect(() => {
    if (!takeFocus.current) return;
    takeFocus.current = false;
    box.current?.querySelector<HTMLElement>(`[data-row="${current}"]`)?.focus({ preventScroll: true });
  });

  const pressed = (event: KeyboardEvent, row: Row) => {
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 2);
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -rows.length,
      End: rows.length,
    };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      const to = Math.max(0, Math.min(rows.length - 1, current + step));
      takeFocus.current = true;
      setActive(to);
      bring(to);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      props.onChoose(row);
    } else {
      props.onKey?.(event, row);
    }
  };

  const gap = (height: number) =>
    height > 0 ? (
      <tbody class="gap" aria-hidden="true">
        <tr>
          <td style={{ height: `${height}px` }} />
        </tr>
      </tbody>
    ) : null;

  return (
    <div class={`table-box ${props.class ?? ""}`} ref={box}>
      <table aria-rowcount={rows.length + 1}>
        <caption class="unseen">{props.caption}</caption>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <th
                key={column.key}
                scope="col"
                class={`${column.numeric ? "number" : ""} ${column.class ?? ""}`}
                aria-sort={
                  sort.column === (column.sort ?? column.key)
                    ? sort.descending
                      ? "descending"
                      : "ascending"
                    : undefined
                }
              >
                {column.sortable === false ? (
                  <span title={column.hint}>{column.title}</span>
                ) : (
                  <button
                    type="button"
                    class="sort"
                    title={column.hint ?? props.sortLabel(column.title)}
                    onClick={() => props.onSort(column.sort ?? column.key)}
                  >
                    {column.title}
                    <span aria-hidden="true" class="arrow">
                      {sort.column === (column.sort ?? column.key) ? (sort.descending ? "▾" : "▴") : ""}
                    </span>
                  </button>
                )}
              </th>
            ))}
          </tr>
        </thead>
        {gap(first * rowHeight)}
        <tbody>
          {rows.slice(first, last).map((row, n) => {
            const at = first + n;
            const key = rowKey(row);
            return (
              <tr
                key={key}
                data-row={at}
                aria-rowindex={at + 2}
                class={key === props.chosen ? "chosen" : ""}
                {...(key === props.chosen && { "aria-current": "true" })}
                tabIndex={at === current ? 0 : -1}
                onClick={() => {
                  setActive(at);
                  props.onChoose(row);
                }}
                onKeyDown={(event) => pressed(event, row)}
              >
                {columns.map((column) =>
                  column.key === props.header ? (
                    <th key={column.key} scope="row" class={column.class}>
                      {column.cell(row)}
                    </th>
                  ) : (
                    <td key={column.key} class={`${column.numeric ? "number" : ""} ${column.class ?? ""}`}>
                      {column.cell(row)}
                    </td>
                  ),
                )}
              </tr>
            );
          })}
        </tbody>
        {gap((rows.length - last) * rowHeight)}
      </table>
      {rows.length === 0 ? <p class="note">{props.empty}</p> : null}
    </div>
  );
}
