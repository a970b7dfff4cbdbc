// The name of a function in a column: where there is no room, its beginning is cut and its end stays, unless the end is types
// or arguments. The text is whole for whoever copies or listens, but for characters that would turn or hide the text around
// them: those are written out.

import { visible } from "../flame/label.ts";
import { splitName } from "../state/name.ts";

export function FunctionName({ name }: { readonly name: string }) {
  const [head, tail] = splitName(visible(name));
  const path = head === "" ? null : <bdi class="head">{head}</bdi>;
  // A box that runs from right to left loses the left of its text; the text itself runs as ever.
  return /[<({\s]/.test(tail) ? (
    <code class="function-name">
      {path}
      <bdi class="tail">{tail}</bdi>
    </code>
  ) : (
    <code class="function-name from-end">
      <bdi dir="ltr">
        {path}
        <bdi>{tail}</bdi>
      </bdi>
    </code>
  );
}
