// What the drawing takes from the page's style: which of the palettes (by the ground it stands on), its ground and ink,
// and the font of code.

import { DARK, FORCED, LIGHT, type Palette } from "./colour.ts";

const FONT = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';

/** The palette for where an element stands now; the page's own before it stands anywhere. */
export function readPalette(element: Element | null): Palette {
  if (matchMedia("(forced-colors: active)").matches) return FORCED;
  const style = getComputedStyle(element ?? document.documentElement);
  const base = style.colorScheme.includes("dark") ? DARK : LIGHT;
  const ground = style.getPropertyValue("--panel").trim();
  return ground === "" ? base : { ...base, ground };
}

export function readFont(element: Element | null): string {
  const font = element ? getComputedStyle(element).getPropertyValue("--mono").trim() : "";
  return font === "" ? FONT : font;
}
