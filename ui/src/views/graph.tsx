// The picture of a tree and what stands around it: search, panels, colours; flame graph, table and callers side by side,
// all linked. What is focused, searched and chosen is in the link; what is merely pointed at is not.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import * as api from "../data/api.ts";
import type { Tree } from "../data/flame.ts";
import {
  canCount,
  type FlameAction,
  FlameView,
  findByPathHash,
  nameOf,
  pathHash,
  sandwich,
  searchMatches,
  stackText,
} from "../flame/index.ts";
import { visible } from "../flame/label.ts";
import { useFlameText } from "../i18n/flame.ts";
import { useNumbers, useText } from "../i18n/index.ts";
import { aroundFrom, aroundOf } from "../state/around.ts";
import { type Explore, orderOf, type Panel, writeExplore } from "../state/explore.ts";
import { entriesFrom, entriesOf, type FunctionEntry } from "../state/functions.ts";
import { useAnswer } from "../state/query.ts";
import type { Chosen } from "../state/selection.ts";
import { change } from "../state/url.ts";
import { announce } from "../widgets/announce.tsx";
import { copyText } from "../widgets/copy.ts";
import { lazy } from "../widgets/lazy.tsx";
import { useThemeKey } from "../widgets/theme.ts";
import { FunctionTable } from "./functions.tsx";
import { openHelp } from "./open-help.ts";
import { frozenLink } from "./out.tsx";
import { useSwatch } from "./swatch.ts";
import { useSearch, ViewBar } from "./view-bar.tsx";

const CallersPanel = lazy(async () => (await import("./callers.tsx")).CallersPanel);

interface Props {
  readonly state: Explore;
  readonly chosen: Chosen;
  readonly tree: Tree;
  readonly stale: boolean;
  /** The picture is of an earlier question, and no other is under way. */
  readonly old: boolean;
  /** The functions that all stacks of this tree begin with; none = it is the whole tree. */
  readonly detail: readonly string[];
  /** Asks for everything below a box that the server left out; for nothing, the whole tree again. */
  readonly onDetail: (path: readonly string[]) => void;
}

export function Graph({ state, chosen, tree, stale, old, detail, onDetail }: Props) {
  const text = useText();
  const numbers = useNumbers();
  const theme = useThemeKey();
  const { model } = tree;
  const flameText = useFlameText(model.meta.unit);
  const { query, bad } = useSearch(state.search);
  const matches = useMemo(() => (query ? searchMatches(model, query) : null), [model, query]);
  const found = state.at === null ? 0 : findByPathHash(model, state.at);
  const focus = found ?? 0;
  const swatch = useSwatch(model, theme);
  const [selected, setSelected] = useState<string | null>(null);
  const shows = (panel: Panel) => state.panels.includes(panel);

  // A cut tree lacks functions: then table and callers come from the server, over everything.
  const exact = canCount(model);
  const sides = [chosen.baseline, chosen.selection].filter((side) => side !== null);
  const sidesKey = JSON.stringify(sides);
  const remoteTop = useAnswer(exact || !shows("table") ? null : `top ${sidesKey}`, (signal) =>
    Promise.all(sides.map((side) => api.top(side, 0, signal))),
  );
  const entries = useMemo(
    () =>
      !shows("table")
        ? []
        : exact
          ? entriesOf(model)
          : remoteTop.data
            ? entriesFrom(
                remoteTop.data.map((answer) => answer.data),
                model,
              )
            : [],
    [model, exact, remoteTop.data, shows("table")],
  );
  const { fn } = state;
  const remoteAround = useAnswer(
    exact || fn === null || !shows("callers") ? null : `callers ${fn} ${sidesKey}`,
    (signal) => Promise.all(sides.map((side) => api.callers(side, fn ?? "", signal))),
    fn ?? "",
  );
  const around = useMemo(() => {
    if (fn === null || !shows("callers")) return null;
    if (exact) return aroundOf(sandwich(model, fn));
    return remoteAround.data ? aroundFrom(remoteAround.data.map((answer) => answer.data)) : null;
  }, [model, fn, exact, remoteAround.data, shows("callers")]);

  const marked = selected ?? fn;
  const chosenEntry = useMemo(() => entries.find((entry) => entry.name === marked) ?? null, [entries, marked]);
  const frameOf = useMemo(() => {
    if (marked === null) return -1;
    const { frames, strings } = model;
    for (let frame = 0; frame < frames.size; frame += 1)
      if (strings[frames.name[frame] ?? 0] === marked) return frame;
    return -1;
  }, [model, marked]);

  // Said once a search has come to rest.
  const said = useRef("");
  useEffect(() => {
    if (!matches) return;
    const words = text.view.matchedLong(
      numbers.share(matches.shares[matches.shares.length - 1] ?? 0),
      matches.nodes.length,
      numbers.count(matches.nodes.length),
    );
    if (words === said.current) return;
    said.current = words;
    announce(words);
  }, [matches, text, numbers]);

  const showFunction = (name: string, how: "push" | "replace") => {
    setSelected(name);
    const panels: readonly Panel[] = shows("callers") ? state.panels : [...state.panels, "callers"];
    change(writeExplore({ fn: name, panels }), how);
  };
  const select = (node: number | null) => {
    if (node === null) {
      setSelected(null);
      return;
    }
    const name = nameOf(model, node);
    setSelected(name === "" ? null : name);
    if (shows("callers") && name !== "" && name !== fn) change(writeExplore({ fn: name }), "replace");
  };
  const copy = (content: string, what: string) => void copyText(content, text.out.copied(what), text.out.notCopied);
  const actions: Record<FlameAction, (node: number) => void> = {
    "copy-name": (node) => copy(nameOf(model, node), text.out.theName),
    "copy-stack": (node) => copy(stackText(model, node, flameText), text.out.theStack),
    "copy-link": (node) =>
      copy(frozenLink(chosen, { at: node === 0 ? null : pathHash(model, node) }), text.out.theLink),
    "show-callers": (node) => showFunction(nameOf(model, node), "push"),
    "search-name": (node) => change(writeExplore({ search: nameOf(model, node) }), "push"),
    "fetch-rest": (node) => {
      const path: string[] = [];
      for (let at = model.parent[node] ?? 0; at !== 0; at = model.parent[at] ?? 0) path.unshift(nameOf(model, at));
      const parent = model.parent[node] ?? 0;
      if (parent === 0) return;
      onDetail(path);
      change(writeExplore({ at: pathHash(model, parent) }), "push");
    },
    help: openHelp,
    search: () => document.querySelector<HTMLInputElement>("[data-search]")?.select(),
    "toggle-direction": () =>
      change(writeExplore({ direction: state.direction === "down" ? "up" : "down" }), "replace"),
    "toggle-colour": () =>
      change(writeExplore({ colour: state.colour === "package" ? "value" : "package" }), "replace"),
  };

  const chooseEntry = (entry: FunctionEntry) => {
    const again = entry.name === fn;
    setSelected(again ? null : entry.name);
    change(writeExplore({ fn: again ? null : entry.name }), "replace");
  };
  const keyOnEntry = (event: KeyboardEvent, entry: FunctionEntry) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "y") copy(entry.name, text.out.theName);
    else if (event.key === "f") showFunction(entry.name, "push");
    else return;
    event.preventDefault();
  };

  return (
    <div class={stale ? "graph stale" : old ? "graph old" : "graph"}>
      <ViewBar state={state} matches={matches} bad={bad} compared={model.sides === 2} />
      {state.at !== null && found === null ? (
        <p class="warn-line" role="status">
          {text.view.focusGone}
        </p>
      ) : null}
      {detail.length > 0 ? (
        <p class="warn-line" role="status">
          {text.view.onlyThrough(visible(detail[detail.length - 1] ?? ""))}{" "}
          <button
            type="button"
            class="button"
            onClick={() => {
              onDetail([]);
              change(writeExplore({ at: null }), "push");
            }}
          >
            {text.view.everything}
          </button>
        </p>
      ) : null}
      <div class={`panels of-${state.panels.length}`}>
        {state.panels.map((panel) =>
          panel === "flame" ? (
            <div key="flame" class="panel flame-panel">
              <FlameView
                model={model}
                focus={focus}
                matches={matches}
                direction={state.direction}
                order={orderOf(state)}
                colourBy={model.sides === 2 ? "diff" : state.colour}
                diffMode={state.diffBy}
                text={flameText}
                theme={theme}
                chosenFrame={frameOf}
                onFocus={(node) => change(writeExplore({ at: node === 0 ? null : pathHash(model, node) }), "push")}
                onSelect={select}
                onAction={(action, node) => actions[action](node)}
              />
            </div>
          ) : panel === "table" ? (
            <FunctionTable
              key="table"
              model={model}
              entries={entries}
              query={query}
              diffBy={state.diffBy}
              chosen={chosenEntry?.key ?? null}
              swatch={swatch}
              onChoose={chooseEntry}
              onKey={keyOnEntry}
              note={exact ? null : text.table.fromServer}
            />
          ) : (
            <CallersPanel
              key="callers"
              model={model}
              fn={fn}
              around={around}
              diffBy={state.diffBy}
              onChoose={(name) => {
                setSelected(name);
                change(writeExplore({ fn: name }), "push");
              }}
              onClose={() =>
                change(writeExplore({ panels: state.panels.filter((one) => one !== "callers"), fn: null }), "push")
              }
            />
          ),
        )}
      </div>
    </div>
  );
}
