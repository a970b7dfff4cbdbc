// The name of a function in a column: where there is no room, its beginning is cut and its end stays. The text is whole for
// whoever copies or listens, but for characters that would turn or hide the text around them: those are written out.

import { visible } from "../flame/label.ts";
import { splitName } from "../state/name.ts";

export function FunctionName({ name }: { readonly name: string }) {
  const [head, tail] = splitName(visible(name));
  return (
    <code class="function-name">
      {head === "" ? null : <bdi class="head">{head}</bdi>}
      <bdi class="tail">{tail}</bdi>
    </code>
  );
}
