// Mouse, pen and fingers on the graph, as intentions: hover, tap, menu, pan, zoom at a point. A drag is no click; a
// long press with a finger is the menu; two fingers zoom. Vertical moves of one finger are the browser's own scrolling.

/** What the hand wants; points are in pixels of the window, movements in pixels. */
export interface Intentions {
  readonly hover: (x: number, y: number) => void;
  readonly leave: () => void;
  readonly tap: (x: number, y: number) => void;
  readonly doubleTap: (x: number, y: number) => void;
  readonly menu: (x: number, y: number) => void;
  readonly pan: (right: number, down: number) => void;
  readonly zoom: (x: number, factor: number) => void;
}

/** Farther than this between press and release is a drag. */
const DRAG_PIXELS = 4;
const LONG_PRESS_MS = 500;
/** A second press so soon and so near belongs to a double click and must not focus what has slid under the pointer. */
const DOUBLE_MS = 400;
const WHEEL_ZOOM = 0.0022;
const LINE_PIXELS = 16;

/** Listens until the signal says stop. */
export function listen(target: HTMLElement, intentions: Intentions, signal: AbortSignal): void {
  const pointers = new Map<number, { x: number; y: number }>();
  let pressed: { x: number; y: number; moved: boolean } | null = null;
  let lastTap = { x: 0, y: 0, at: Number.NEGATIVE_INFINITY };
  let longPress = 0;
  const endLongPress = () => clearTimeout(longPress);
  const on = <K extends keyof HTMLElementEventMap>(kind: K, act: (event: HTMLElementEventMap[K]) => void) =>
    target.addEventListener(kind, act, { signal, passive: false });

  on("pointerdown", (event) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    pressed = pointers.size === 1 ? { x: event.clientX, y: event.clientY, moved: false } : null;
    endLongPress();
    if (event.pointerType === "touch" && pressed) {
      const { x, y } = pressed;
      longPress = window.setTimeout(() => {
        pressed = null;
        intentions.menu(x, y);
      }, LONG_PRESS_MS);
    }
  });
  on("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) {
      intentions.hover(event.clientX, event.clientY);
      return;
    }
    const now = { x: event.clientX, y: event.clientY };
    if (pointers.size === 2) pinch(pointers, event.pointerId, now, intentions);
    else if (pressed) {
      if (!pressed.moved && Math.hypot(now.x - pressed.x, now.y - pressed.y) > DRAG_PIXELS) {
        pressed.moved = true;
        endLongPress();
        target.setPointerCapture(event.pointerId);
      }
      if (pressed.moved) intentions.pan(before.x - now.x, before.y - now.y);
    }
    pointers.set(event.pointerId, now);
  });
  const release = (event: PointerEvent) => {
    pointers.delete(event.pointerId);
    endLongPress();
    const tapped = pressed && !pressed.moved && event.type === "pointerup";
    pressed = null;
    if (!tapped || pointers.size > 0) return;
    const { clientX: x, clientY: y, timeStamp: at } = event;
    const isSecond = at - lastTap.at < DOUBLE_MS && Math.hypot(x - lastTap.x, y - lastTap.y) <= DRAG_PIXELS;
    lastTap = { x, y, at };
    if (!isSecond) intentions.tap(x, y);
  };
  on("pointerup", release);
  on("pointercancel", release);
  on("pointerleave", (event) => {
    if (!pointers.has(event.pointerId)) intentions.leave();
  });
  on("dblclick", (event) => intentions.doubleTap(event.clientX, event.clientY));
  on("contextmenu", (event) => {
    event.preventDefault();
    endLongPress();
    intentions.menu(event.clientX, event.clientY);
  });
  on("wheel", (event) => {
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PIXELS : 1;
    if (event.ctrlKey || event.metaKey || event.altKey) {
      event.preventDefault();
      intentions.zoom(event.clientX, Math.exp(event.deltaY * unit * WHEEL_ZOOM * (event.ctrlKey ? 2 : 1)));
      return;
    }
    const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      event.preventDefault();
      intentions.pan(sideways * unit, 0);
    }
    // Else the browser scrolls the rows.
  });
  signal.addEventListener("abort", endLongPress, { once: true });
}

/** Two fingers: what was between them stays between them. */
function pinch(
  pointers: Map<number, { x: number; y: number }>,
  moved: number,
  now: { x: number; y: number },
  intentions: Intentions,
): void {
  const [other] = [...pointers].filter(([id]) => id !== moved).map(([, point]) => point);
  const before = pointers.get(moved);
  if (!other || !before) return;
  const distance = (point: { x: number }) => Math.max(1, Math.abs(point.x - other.x));
  intentions.zoom((now.x + other.x) / 2, distance(before) / distance(now));
  intentions.pan((before.x - now.x) / 2, 0);
}
