// The flame graph as a component: breadcrumb, picture, accessible tree, details line, menu. The picture is the stage's;
// this file turns the hand's and the keys' intentions into views and calls. Focus, search and colours come from
// outside and go outside again (the page keeps them in the address); pan, zoom and what is chosen live here.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { detailTexts, nameText, treeItems } from "./a11y.ts";
import { Crumbs } from "./crumbs.tsx";
import type { Hit } from "./hit.ts";
import { type Command, commandFor } from "./keys.ts";
import { type FlameLayout, layOut } from "./layout.ts";
import { Legend } from "./legend.tsx";
import { Menu, type MenuItem } from "./menu.tsx";
import { neighbour, zoomCentre } from "./moves.ts";
import { findByPathHash, pathHash } from "./path.ts";
import { listen } from "./pointer.ts";
import { nextMatch } from "./search.ts";
import { Stage } from "./stage.ts";
import { readFont, readPalette } from "./tokens.ts";
import type { FlameAction, FlameModel, FlameViewProps } from "./types.ts";
import { focusOn, panBy, reveal, zoomAt } from "./viewport.ts";
import "./flame.css";

/** A box that is brought into sight is at least this wide, in CSS pixels. */
const REVEAL_WIDTH = 24;
let instances = 0;

const widthOf = (layout: FlameLayout, node: number) => layout.width[layout.position[node] as number] as number;

export function FlameView(props: FlameViewProps) {
  const { model, focus, matches, direction, order, colourBy, text, theme } = props;
  const diffMode = props.diffMode ?? "share";
  const chosenFrame = props.chosenFrame ?? -1;
  const parts = {
    tree: useRef<HTMLDivElement>(null),
    spacer: useRef<HTMLDivElement>(null),
    picture: useRef<HTMLCanvasElement>(null),
    outlines: useRef<HTMLCanvasElement>(null),
  };
  const stage = useRef<Stage | null>(null);
  const layout = useMemo(() => layOut(model, { order, diffMode }), [model, order, diffMode]);
  const earlier = useRef<number[]>([]);
  const leaving = useRef(false);
  const pointer = useRef<{ x: number; y: number } | null>(null);
  const shown = useRef<{ model: FlameModel; layout: FlameLayout; focus: number } | null>(null);
  const [hovered, setHovered] = useState<Hit | null>(null);
  const [selected, setSelected] = useState<number | null>(null);
  const [menu, setMenu] = useState<{ node: number; x: number; y: number } | null>(null);
  const [id] = useState(() => `flame-${++instances}`);
  // Handlers live as long as the component; they read what is current from here.
  const now = useRef({ props, selected });
  now.current = { props, selected };

  const select = (node: number | null) => {
    setSelected(node);
    stage.current?.setSelected(node);
    now.current.props.onSelect?.(node);
  };
  const hover = (hit: Hit | null) => {
    stage.current?.setHover(hit);
    setHovered((before) => (before?.node === hit?.node && before?.merged === hit?.merged ? before : hit));
  };
  const animated = () => !matchMedia("(prefers-reduced-motion: reduce)").matches;
  const bring = (node: number) => {
    const on = stage.current;
    if (!on) return;
    const { model: tree } = now.current.props;
    on.moveTo(reveal(tree, on.layout, on.frame(), on.destination(), node, REVEAL_WIDTH), animated());
  };
  const out = () => {
    const on = stage.current;
    const { model: tree, focus: current, onFocus } = now.current.props;
    if (!on) return;
    const home = focusOn(tree, on.layout, on.frame(), current);
    const at = on.destination();
    if (at.x0 !== home.x0 || at.x1 !== home.x1) on.moveTo(home, animated());
    else if (current !== 0) {
      leaving.current = true;
      onFocus(earlier.current.pop() ?? 0);
    } else select(null);
  };
  const act = (action: FlameAction, node: number) => now.current.props.onAction(action, node);
  const tap = (x: number, y: number) => {
    const on = stage.current;
    const hit = on?.hit(x, y);
    if (!on || !hit) return;
    parts.tree.current?.focus({ preventScroll: true });
    if (hit.merged > 0) {
      on.moveTo({ x0: hit.x0, x1: hit.x1, top: on.destination().top }, animated());
      return;
    }
    select(hit.node);
    if (now.current.props.model.rest.has(hit.node)) act("fetch-rest", hit.node);
    else now.current.props.onFocus(hit.node);
  };
  const openMenu = (node: number, x: number, y: number) => {
    select(node);
    setMenu({ node, x, y });
  };

  // The stage comes first and once; everything below sets what it draws.
  useLayoutEffect(() => {
    const { tree, spacer, picture, outlines } = parts;
    if (!tree.current || !spacer.current || !picture.current || !outlines.current) return;
    const elements = {
      scroller: tree.current,
      spacer: spacer.current,
      picture: picture.current,
      outlines: outlines.current,
    };
    const on = new Stage(elements, model, layout);
    stage.current = on;
    const gone = new AbortController();
    const scroller = tree.current;
    scroller.addEventListener("scroll", () => on.takeScroll(), { signal: gone.signal, passive: true });
    const observer = new ResizeObserver(() => on.resize());
    observer.observe(scroller);
    on.resize();
    on.onRest = () => {
      if (pointer.current) hover(on.hit(pointer.current.x, pointer.current.y));
    };
    const intentions = {
      hover: (x: number, y: number) => {
        pointer.current = { x, y };
        hover(on.hit(x, y));
      },
      leave: () => {
        pointer.current = null;
        hover(null);
      },
      tap,
      doubleTap: (x: number, y: number) => {
        if (!on.hit(x, y)) out();
      },
      menu: (x: number, y: number) => {
        const hit = on.hit(x, y);
        if (hit && hit.merged === 0) openMenu(hit.node, x, y);
      },
      pan: (right: number, down: number) => {
        const away = now.current.props.direction === "down" ? down : -down;
        on.moveTo(panBy(on.view, on.layout, on.frame(), right, away), false);
      },
      zoom: (x: number, factor: number) => {
        const box = scroller.getBoundingClientRect();
        const at = Math.min(1, Math.max(0, (x - box.left) / on.frame().width));
        on.moveTo(zoomAt(on.view, on.layout, on.frame(), at, factor), false);
      },
    };
    listen(scroller, intentions, gone.signal);
    return () => {
      gone.abort();
      observer.disconnect();
      on.destroy();
      stage.current = null;
    };
  }, []);

  useLayoutEffect(() => {
    const on = stage.current;
    if (!on) return;
    const before = shown.current;
    on.setLayout(model, layout);
    const palette = readPalette(parts.tree.current);
    on.setLook({ palette, colourBy, diffMode, text, matches, focus, chosenFrame }, readFont(parts.tree.current));
    on.setDirection(direction);
    if (before?.layout === layout && before.focus === focus) return;
    if (before?.layout === layout || before?.model === model) on.setSelected(now.current.selected);
    if (before && before.model !== model) {
      // Other data: what was chosen is found again by its names; places mean nothing.
      const kept = selected === null ? null : findByPathHash(model, pathHash(before.model, selected));
      setSelected(kept);
      on.setSelected(kept);
      setHovered(null);
      setMenu(null);
      earlier.current = [];
    } else if (before && focus === 0) {
      earlier.current = [];
    } else if (before && !leaving.current) {
      earlier.current.push(before.focus);
    }
    leaving.current = false;
    shown.current = { model, layout, focus };
    // Another order moves every box: what was in sight has no meaning any more.
    on.moveTo(focusOn(model, layout, on.frame(), focus), before?.layout === layout && animated());
    if (!before) on.drawNow();
  }, [layout, direction, colourBy, text, matches, focus, chosenFrame, theme]);

  const run = (command: Command) => {
    const on = stage.current;
    if (!on) return;
    const { props: current, selected: chosen } = now.current;
    const at = chosen ?? current.focus;
    const frame = on.frame();
    const view = on.destination();
    switch (command.kind) {
      case "step": {
        const next = chosen === null ? current.focus : neighbour(current.model, on.layout, chosen, command.to);
        if (next !== null) {
          select(next);
          bring(next);
        }
        return;
      }
      case "focus":
        if (current.model.rest.has(at)) act("fetch-rest", at);
        else current.onFocus(at);
        return;
      case "out":
        return out();
      case "reset":
        select(0);
        if (current.focus !== 0) current.onFocus(0);
        on.moveTo(focusOn(current.model, on.layout, frame, 0), animated());
        return;
      case "menu": {
        const box = on.boxOf(at);
        return openMenu(at, box.x + Math.min(40, box.width / 2), box.y + frame.rowHeight);
      }
      case "zoom":
        return on.moveTo(zoomAt(view, on.layout, frame, zoomCentre(on.layout, view, at), command.factor), animated());
      case "fit":
        return on.moveTo(focusOn(current.model, on.layout, frame, current.focus), animated());
      case "pan": {
        const away = (current.direction === "down" ? command.down : -command.down) * frame.height;
        return on.moveTo(panBy(view, on.layout, frame, command.right * frame.width, away), animated());
      }
      case "match": {
        const next = current.matches ? nextMatch(current.matches, chosen ?? 0, command.step) : null;
        if (next !== null) {
          select(next);
          bring(next);
        }
        return;
      }
      case "action":
        return act(command.action, at);
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // A long press may leave the keys with the graph while its menu is open.
    if (menu && event.key === "Escape") {
      setMenu(null);
      event.stopPropagation();
      return;
    }
    const command = commandFor(event, direction);
    if (!command) return;
    event.preventDefault();
    event.stopPropagation();
    // Who uses keys reads about the chosen box, wherever the pointer rests.
    pointer.current = null;
    hover(null);
    run(command);
  };

  // Lists for screen readers and the details line; a node may be older than the model for one rendering.
  const valid = (node: number | null) => (node !== null && node < model.size ? node : null);
  const chosen = valid(selected);
  // A function that is chosen elsewhere, such as in the table: the words are about its widest box.
  const widest = useMemo(() => {
    let found: number | null = null;
    if (chosenFrame >= 0)
      for (let node = 0; node < model.size; node++) {
        if (model.frame[node] === chosenFrame && (found === null || widthOf(layout, node) > widthOf(layout, found)))
          found = node;
      }
    return found;
  }, [layout, chosenFrame]);
  const current = valid(hovered?.node ?? null) ?? chosen ?? valid(widest) ?? focus;
  const items = useMemo(() => treeItems(model, layout, chosen ?? focus, text), [layout, chosen, focus, text]);
  const itemId = (node: number) => `${id}-${node}`;
  const isEmpty = model.size === 1 && model.meta.totals.every((total) => total === 0n);
  const merged = hovered && hovered.merged > 0 ? hovered : null;
  const details = isEmpty
    ? [text.nothing]
    : merged
      ? [text.merged(merged.merged), text.numbers.share(merged.x1 - merged.x0)]
      : [nameText(model, current, text), ...detailTexts(model, current, focus, diffMode, text)];

  return (
    <section class="flame" aria-label={text.graph}>
      <Crumbs model={model} focus={focus} text={text} onFocus={props.onFocus} onBack={focus === 0 ? null : out} />
      {colourBy === "diff" && <Legend palette={readPalette(parts.tree.current)} text={text} />}
      <div
        class="flame-tree"
        ref={parts.tree}
        role="tree"
        tabIndex={0}
        aria-label={`${text.graph}. ${text.keysHint}`}
        aria-activedescendant={itemId(chosen ?? focus)}
        onKeyDown={onKeyDown}
        onFocus={() => {
          if (now.current.selected === null && parts.tree.current?.matches(":focus-visible")) select(focus);
        }}
        data-direction={direction}
      >
        <div class="flame-canvases" aria-hidden="true">
          <canvas ref={parts.picture} />
          <canvas ref={parts.outlines} />
          {isEmpty && <p class="flame-empty">{text.nothing}</p>}
        </div>
        <div ref={parts.spacer} role="presentation" />
        <div class="flame-items" role="presentation">
          {items.map((item) => (
            <div
              key={item.node}
              id={itemId(item.node)}
              role="treeitem"
              tabIndex={-1}
              aria-level={item.level}
              aria-posinset={item.place}
              aria-setsize={item.siblings}
              aria-selected={item.node === (chosen ?? focus)}
              {...(item.hasChildren ? { "aria-expanded": true } : {})}
            >
              {item.label}
            </div>
          ))}
        </div>
      </div>
      <p class="flame-details" data-node={current}>
        <bdi class="flame-details-name">{details[0]}</bdi>
        {details.slice(1).map((part) => (
          <span key={part}>{part}</span>
        ))}
      </p>
      {menu && (
        <Menu
          title={nameText(model, menu.node, text)}
          x={menu.x}
          y={menu.y}
          items={menuItems(menu.node)}
          onClose={() => {
            setMenu(null);
            parts.tree.current?.focus({ preventScroll: true });
          }}
        />
      )}
    </section>
  );

  function menuItems(node: number): MenuItem[] {
    const words = text.actions;
    const item = (key: string, label: string, hint: string, run: () => void) => ({ key, label, hint, act: run });
    const action = (name: FlameAction, label: string, hint: string) => item(name, label, hint, () => act(name, node));
    const isRest = model.rest.has(node);
    const list: MenuItem[] = isRest
      ? [action("fetch-rest", words.fetchRest, "Enter")]
      : [item("focus", words.focus, "Enter", () => props.onFocus(node))];
    if (focus !== 0)
      list.push(
        item("out", words.out, "Esc", out),
        item("reset", words.reset, "Home", () => props.onFocus(0)),
      );
    if (isRest || node === 0) return list;
    list.push(
      action("copy-name", words.copyName, "y"),
      action("copy-stack", words.copyStack, "Y"),
      action("copy-link", words.copyLink, "l"),
      action("show-callers", words.showCallers, "f"),
      action("search-name", words.searchName, ""),
    );
    return list;
  }
}
