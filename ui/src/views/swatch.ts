// The colour of a function's package, for the table: the same as its boxes have in the picture.

import { useMemo } from "preact/hooks";
import { type FlameModel, packageSlots, readPalette } from "../flame/index.ts";

export function useSwatch(model: FlameModel, theme: string): (frame: number) => string {
  return useMemo(() => {
    // The theme is part of the key because it decides what the page's ground is.
    const palette = theme === "" ? readPalette(null) : readPalette(document.documentElement);
    const slots = packageSlots(model);
    return (frame: number) => {
      const slot = slots[frame] ?? 0;
      return palette.ring[slot] ?? (slot === palette.ring.length ? palette.kernel : palette.neutral);
    };
  }, [model, theme]);
}
