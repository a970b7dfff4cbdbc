// The path of the focus: every caller is a way back. A long path keeps its first and its last names.

import { FunctionName } from "../widgets/function-name.tsx";
import { nameText } from "./a11y.ts";
import { pathTo } from "./model.ts";
import type { FlameText } from "./text.ts";
import type { FlameModel } from "./types.ts";

const SHOWN_MAX = 7;

interface CrumbsProps {
  readonly model: FlameModel;
  readonly focus: number;
  readonly text: FlameText;
  readonly onFocus: (node: number) => void;
  /** Null where there is no way out. */
  readonly onBack: (() => void) | null;
}

export function Crumbs({ model, focus, text, onFocus, onBack }: CrumbsProps) {
  const path = pathTo(model, focus);
  const left = Math.max(0, path.length - SHOWN_MAX);
  const shown = left === 0 ? path : [path[0] as number, ...path.slice(left + 1)];
  return (
    <nav class="flame-crumbs" aria-label={text.crumbs}>
      <button type="button" class="flame-back" disabled={!onBack} onClick={() => onBack?.()}>
        <span aria-hidden="true">←</span> {text.back}
      </button>
      <ol>
        {shown.map((node, index) => (
          <li key={node}>
            {index === 1 && left > 0 && <span class="flame-left-out">… {left}</span>}
            <button
              type="button"
              class="flame-crumb"
              title={nameText(model, node, text)}
              aria-current={node === focus ? "location" : undefined}
              onClick={() => onFocus(node)}
            >
              <FunctionName name={nameText(model, node, text)} />
            </button>
          </li>
        ))}
      </ol>
    </nav>
  );
}
