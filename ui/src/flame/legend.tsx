// What the colours of a comparison mean, in words and in the colours themselves.

import { DIFF_STEPS, type Palette } from "./colour.ts";
import type { FlameText } from "./text.ts";

/** Steps of the scale that are shown. */
const SHOWN = [0, 4, 8, 10, 12, 16, DIFF_STEPS - 1];

export function Legend({ palette, text }: { readonly palette: Palette; readonly text: FlameText }) {
  return (
    <p class="flame-legend">
      <span>◀ {text.legend.less}</span>
      <span class="flame-scale" role="img" aria-label={text.legend.same} title={text.legend.same}>
        {SHOWN.map((step) => (
          <i key={step} style={{ backgroundColor: palette.diffs[step] ?? "transparent" }} />
        ))}
      </span>
      <span>{text.legend.more} ▶</span>
      <span>
        <i class="flame-gone" style={{ backgroundColor: palette.diffs[0] ?? "transparent" }} /> {text.legend.gone}
      </span>
    </p>
  );
}
