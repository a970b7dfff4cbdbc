// The line above the picture: search with its share, which panels are open, and how the graph is drawn.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Matches, parseQuery, type Query } from "../flame/index.ts";
import { useNumbers, useText } from "../i18n/index.ts";
import { type Explore, orderOf, type Panel, writeExplore } from "../state/explore.ts";
import { change } from "../state/url.ts";
import { Icon } from "../widgets/icon.tsx";
import { IconButton } from "../widgets/icon-button.tsx";
import { Menu } from "../widgets/menu.tsx";

/** What is searched, read; and whether it is no regular expression. */
export function useSearch(search: string): { query: Query | null; bad: boolean } {
  return useMemo(() => {
    const read = parseQuery(search);
    if (read === null) return { query: null, bad: false };
    return "error" in read ? { query: null, bad: true } : { query: read, bad: false };
  }, [search]);
}

const SETTLED_MS = 150;

interface Props {
  readonly state: Explore;
  readonly matches: Matches | null;
  readonly bad: boolean;
  readonly compared: boolean;
}

function SearchField({ state, matches, bad }: Omit<Props, "compared">) {
  const text = useText();
  const numbers = useNumbers();
  const [typed, setTyped] = useState(state.search);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const mine = useRef(state.search);
  // Another place (back, a link, a menu) brings another search; what was just typed is not taken away by its own echo.
  useEffect(() => {
    if (state.search === mine.current) return;
    mine.current = state.search;
    setTyped(state.search);
  }, [state.search]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const put = (next: string, at_once: boolean) => {
    setTyped(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(
      () => {
        mine.current = next;
        change(writeExplore({ search: next }), "replace");
      },
      at_once ? 0 : SETTLED_MS,
    );
  };
  // n and N step through matches; they are the graph's own keys, so a press here is handed on to it.
  const step = (key: "n" | "N") => {
    const tree = document.querySelector<HTMLElement>(".flame-tree");
    tree?.dispatchEvent(
      new KeyboardEvent("keydown", { key, shiftKey: key === "N", bubbles: true, cancelable: true }),
    );
  };
  const count = matches?.nodes.length ?? 0;
  const share = matches?.shares[matches.shares.length - 1] ?? 0;
  return (
    <div class="search" role="search">
      <span class="search-box">
        <Icon name="search" />
        <input
          class="input"
          type="text"
          data-search
          spellcheck={false}
          autocomplete="off"
          aria-label={text.view.search}
          aria-invalid={bad}
          placeholder={text.view.search + text.view.searchHint}
          value={typed}
          onInput={(event) => put(event.currentTarget.value, false)}
          onKeyDown={(event) => {
            if (event.key === "Enter") {
              event.preventDefault();
              step(event.shiftKey ? "N" : "n");
            } else if (event.key === "Escape" && typed !== "") {
              event.preventDefault();
              put("", true);
            }
          }}
        />
        {typed === "" ? null : <IconButton icon="close" label={text.view.clearSearch} onAct={() => put("", true)} />}
      </span>
      {bad ? <span class="bad-text">{text.view.badPattern}</span> : null}
      {matches ? (
        <>
          <span class="match-share">
            {count === 0 ? text.view.noMatch : text.view.matched(numbers.share(share), count, numbers.count(count))}
          </span>
          <span class="joined">
            <button
              type="button"
              class="button square"
              disabled={count === 0}
              aria-label={text.view.previous}
              title={`${text.view.previous} (N)`}
              onClick={() => step("N")}
            >
              <Icon name="up" />
            </button>
            <button
              type="button"
              class="button square"
              disabled={count === 0}
              aria-label={text.view.next}
              title={`${text.view.next} (n)`}
              onClick={() => step("n")}
            >
              <Icon name="down" />
            </button>
          </span>
        </>
      ) : null}
    </div>
  );
}

export function ViewBar({ state, matches, bad, compared }: Props) {
  const text = useText();
  const order = orderOf(state);
  const toggle = (panel: Panel) => {
    const open = state.panels.includes(panel);
    const order: readonly Panel[] = ["flame", "table", "callers"];
    const next = order.filter((one) => (one === panel ? !open : state.panels.includes(one)));
    if (next.length > 0)
      change(writeExplore({ panels: next, ...(panel === "callers" && open && { fn: null }) }), "push");
  };
  return (
    <div class="view-bar">
      <SearchField state={state} matches={matches} bad={bad} />
      <span class="grow" />
      <fieldset class="segmented" aria-label={text.view.panels}>
        {(["flame", "table", "callers"] as const).map((panel) => (
          <button
            type="button"
            key={panel}
            class={state.panels.includes(panel) ? "segment on" : "segment"}
            aria-pressed={state.panels.includes(panel)}
            onClick={() => toggle(panel)}
          >
            {text.view[panel]}
          </button>
        ))}
      </fieldset>
      <Menu
        label={text.view.options}
        align="end"
        class="button square"
        button={<Icon name="sliders" />}
        sections={[
          ...(compared
            ? []
            : [
                {
                  title: text.view.colour,
                  items: (["package", "value"] as const).map((colour) => ({
                    key: colour,
                    label: text.view.colours[colour],
                    checked: state.colour === colour,
                    act: () => change(writeExplore({ colour }), "replace"),
                  })),
                },
              ]),
          {
            title: text.view.direction,
            items: (["down", "up"] as const).map((direction) => ({
              key: direction,
              label: text.view.directions[direction],
              checked: state.direction === direction,
              act: () => change(writeExplore({ direction }), "replace"),
            })),
          },
          {
            title: text.view.order,
            items: (["size", "name"] as const).map((one) => ({
              key: one,
              label: text.view.orders[one],
              checked: order === one,
              act: () => change(writeExplore({ order: one }), "replace"),
            })),
          },
        ]}
      />
    </div>
  );
}
