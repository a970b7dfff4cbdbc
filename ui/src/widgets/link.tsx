// A link inside the page: a real address that can be opened in another tab, and a step without reloading otherwise.

import type { ComponentChildren } from "preact";
import { go, href, type Parameters } from "../state/url.ts";

interface Props {
  readonly path: string;
  readonly parameters: Parameters;
  readonly class?: string;
  readonly "aria-current"?: "page";
  readonly title?: string;
  readonly children: ComponentChildren;
}

export function Link({ path, parameters, children, ...rest }: Props) {
  return (
    <a
      {...rest}
      href={href(path, parameters)}
      onClick={(event) => {
        if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        go(path, parameters, "push");
      }}
    >
      {children}
    </a>
  );
}
