// Choosing a part of a time axis: by dragging over it, or by its two handles, which are sliders for keyboard and screen
// reader. What is chosen snaps to the chart's steps. Lies over the plot and draws nothing of it.

import { useRef, useState } from "preact/hooks";
import type { Window } from "../state/time.ts";

interface Band {
  readonly window: Window;
  readonly class: string;
  readonly label: string;
}

interface Props {
  readonly window: Window;
  readonly step_ms: number;
  readonly chosen: Window | null;
  readonly bands: readonly Band[];
  /** What is pointed at: a line down the chart. */
  readonly pointed: number | null;
  readonly startLabel: string;
  readonly endLabel: string;
  readonly write: (instant: number) => string;
  /** `nudge`: one of many small steps by key, no choice of its own for the way back. */
  readonly onChoose: (window: Window | null, nudge: boolean) => void;
  readonly onPoint: (instant: number | null) => void;
}

const DRAG_MIN_PX = 4;

export function Brush(props: Props) {
  const { window, step_ms, chosen, write, onChoose } = props;
  const area = useRef<HTMLDivElement>(null);
  const began = useRef<{ x: number; at: number } | null>(null);
  const [drawn, setDrawn] = useState<Window | null>(null);
  const span = window.to - window.from;
  const down = (instant: number) => Math.max(window.from, Math.floor(instant / step_ms) * step_ms);
  const up = (instant: number) => Math.min(window.to, Math.ceil(instant / step_ms) * step_ms);
  const share = (instant: number) => (Math.max(window.from, Math.min(window.to, instant)) - window.from) / span;
  const percent = (part: number) => `${(part * 100).toFixed(3)}%`;
  const instantAt = (x: number) => {
    const box = area.current?.getBoundingClientRect();
    if (!box || box.width === 0) return window.from;
    return window.from + Math.max(0, Math.min(1, (x - box.left) / box.width)) * span;
  };
  const between = (a: number, b: number): Window => {
    const from = down(Math.min(a, b));
    return { from, to: Math.max(up(Math.max(a, b)), from + step_ms) };
  };

  const shown = drawn ?? chosen;
  const style = (part: Window) => ({
    left: percent(share(part.from)),
    width: percent(Math.max(0, share(part.to) - share(part.from))),
  });

  const moved = (event: KeyboardEvent, side: "from" | "to") => {
    const steps: Record<string, number> = {
      ArrowLeft: -1,
      ArrowDown: -1,
      ArrowRight: 1,
      ArrowUp: 1,
      PageDown: -10,
      PageUp: 10,
      Home: Number.NEGATIVE_INFINITY,
      End: Number.POSITIVE_INFINITY,
    };
    if (event.key === "Escape" && chosen) {
      event.preventDefault();
      onChoose(null, false);
      return;
    }
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const now = chosen ?? window;
    const target = now[side] + step * step_ms;
    const snapped = Math.round(Math.max(window.from, Math.min(window.to, target)) / step_ms) * step_ms;
    const from = side === "from" ? Math.min(snapped, now.to - step_ms) : now.from;
    const to = side === "to" ? Math.max(snapped, now.from + step_ms) : now.to;
    onChoose({ from, to }, chosen !== null);
  };

  const handle = (side: "from" | "to", label: string) => {
    const at = (shown ?? window)[side];
    return (
      <div
        class={`handle ${side}`}
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={Math.round(window.from / 1000)}
        aria-valuemax={Math.round(window.to / 1000)}
        aria-valuenow={Math.round(at / 1000)}
        aria-valuetext={write(at)}
        style={{ left: percent(share(at)) }}
        onKeyDown={(event) => moved(event, side)}
        onPointerDown={(event) => {
          if (!chosen || event.button !== 0) return;
          event.stopPropagation();
          // Dragging a handle is a drag from the other end.
          began.current = { x: Number.NEGATIVE_INFINITY, at: side === "from" ? chosen.to - 1 : chosen.from };
          area.current?.setPointerCapture(event.pointerId);
        }}
      />
    );
  };

  return (
    <div
      ref={area}
      class="brush"
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        began.current = { x: event.clientX, at: instantAt(event.clientX) };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        const at = instantAt(event.clientX);
        props.onPoint(at);
        const start = began.current;
        if (start && Math.abs(event.clientX - start.x) >= DRAG_MIN_PX) setDrawn(between(start.at, at));
      }}
      onPointerUp={(event) => {
        const start = began.current;
        began.current = null;
        setDrawn(null);
        if (!start) return;
        if (Math.abs(event.clientX - start.x) < DRAG_MIN_PX) return;
        // What is chosen now is what the words are about, until the pointer moves again.
        props.onPoint(null);
        onChoose(between(start.at, instantAt(event.clientX)), false);
      }}
      onPointerCancel={() => {
        began.current = null;
        setDrawn(null);
      }}
      onPointerLeave={() => props.onPoint(null)}
    >
      {shown ? (
        <>
          <div class="shade" style={style({ from: window.from, to: shown.from })} />
          <div class="shade" style={style({ from: shown.to, to: window.to })} />
        </>
      ) : null}
      {props.bands.map((band) => (
        <div key={band.class} class={`band ${band.class}`} style={style(band.window)}>
          <span>{band.label}</span>
        </div>
      ))}
      {shown ? <div class="lens" style={style(shown)} /> : null}
      {props.pointed === null ? null : <div class="cross" style={{ left: percent(share(props.pointed)) }} />}
      {handle("from", props.startLabel)}
      {handle("to", props.endLabel)}
    </div>
  );
}
