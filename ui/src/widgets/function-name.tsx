// The name of a function in a column: where there is no room, its beginning is cut and its end stays. The text is whole for
// whoever copies or listens.

import { splitName } from "../state/name.ts";

export function FunctionName({ name }: { readonly name: string }) {
  const [head, tail] = splitName(name);
  return (
    <code class="function-name">
      {head === "" ? null : <bdi class="head">{head}</bdi>}
      <bdi class="tail">{tail}</bdi>
    </code>
  );
}
