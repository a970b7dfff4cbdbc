// What keys mean while the graph has the focus. Letters act only there; with Ctrl, Alt or the command key everything
// is the browser's.

import type { FlameAction } from "./types.ts";

export type Command =
  | { readonly kind: "step"; readonly to: "caller" | "callee" | "before" | "after" }
  | { readonly kind: "focus" | "out" | "reset" | "menu" }
  | { readonly kind: "zoom"; readonly factor: number }
  | { readonly kind: "fit" }
  | { readonly kind: "pan"; readonly right: number; readonly down: number }
  | { readonly kind: "match"; readonly step: 1 | -1 }
  | { readonly kind: "action"; readonly action: FlameAction };

/** Parts of the picture per key press. */
const PAN_STEP = 0.2;
const ZOOM_STEP = 0.6;

const COMMANDS: Readonly<Record<string, Command>> = {
  Enter: { kind: "focus" },
  Escape: { kind: "out" },
  Backspace: { kind: "out" },
  Home: { kind: "reset" },
  ContextMenu: { kind: "menu" },
  "+": { kind: "zoom", factor: ZOOM_STEP },
  "=": { kind: "zoom", factor: ZOOM_STEP },
  "-": { kind: "zoom", factor: 1 / ZOOM_STEP },
  "0": { kind: "fit" },
  w: { kind: "pan", right: 0, down: -PAN_STEP },
  a: { kind: "pan", right: -PAN_STEP, down: 0 },
  s: { kind: "pan", right: 0, down: PAN_STEP },
  d: { kind: "pan", right: PAN_STEP, down: 0 },
  n: { kind: "match", step: 1 },
  N: { kind: "match", step: -1 },
  f: { kind: "action", action: "show-callers" },
  y: { kind: "action", action: "copy-name" },
  Y: { kind: "action", action: "copy-stack" },
  l: { kind: "action", action: "copy-link" },
  o: { kind: "action", action: "toggle-direction" },
  b: { kind: "action", action: "toggle-colour" },
  "/": { kind: "action", action: "search" },
  "?": { kind: "action", action: "help" },
};

export interface KeyPress {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly altKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
}

/** The command of a key; null leaves it to the page and the browser. Arrows go as the boxes are drawn. */
export function commandFor(press: KeyPress, direction: "down" | "up"): Command | null {
  if ((press.ctrlKey || press.metaKey) && press.key === "c") return { kind: "action", action: "copy-name" };
  if (press.ctrlKey || press.altKey || press.metaKey) return null;
  switch (press.key) {
    case "ArrowUp":
      return { kind: "step", to: direction === "down" ? "caller" : "callee" };
    case "ArrowDown":
      return { kind: "step", to: direction === "down" ? "callee" : "caller" };
    case "ArrowLeft":
      return { kind: "step", to: "before" };
    case "ArrowRight":
      return { kind: "step", to: "after" };
    case "F10":
      return press.shiftKey ? { kind: "menu" } : null;
  }
  return Object.hasOwn(COMMANDS, press.key) ? (COMMANDS[press.key] ?? null) : null;
}
