// The address bar, and the only module that touches it. A place is a path and parameters in order; parameters that no
// view knows are kept, defaults are left out by whoever writes them, and back and forward are the browser's own.
//
// Refused: state that lives beside the URL. What a reader sees must be in the link.

import { signal } from "@preact/signals";

export type Parameters = ReadonlyArray<readonly [name: string, value: string]>;

export interface Place {
  /** Below the page's base, without a leading slash: "" is the start page. */
  readonly path: string;
  readonly parameters: Parameters;
}

/** Parameters in the order in which a link shows them; unknown ones follow in the order in which they came. */
const ORDER = ["q", "t", "from", "to", "tz", "live", "lens", "b.q", "b.lens", "m", "view", "fn", "g", "s", "at"];

export function parseParameters(search: string): Parameters {
  const text = search.startsWith("?") ? search.slice(1) : search;
  if (text === "") return [];
  return text
    .split("&")
    .filter((part) => part !== "")
    .map((part) => {
      const at = part.indexOf("=");
      return at < 0 ? [plain(part), ""] : [plain(part.slice(0, at)), plain(part.slice(at + 1))];
    });
}

function plain(text: string): string {
  const spaced = text.replaceAll("+", " ");
  try {
    return decodeURIComponent(spaced);
  } catch {
    // A link cut by a chat program: what is left is better than nothing.
    return spaced;
  }
}

/** Escapes what an address must escape and no more, so that a link can be read. */
function written(text: string): string {
  return encodeURIComponent(text)
    .replaceAll("%20", "+")
    .replace(/%(7B|7D|3D|3A|2F|2C|3B|7C|40|24|3F|5B|5D)/g, (all) => decodeURIComponent(all));
}

export function formatParameters(parameters: Parameters): string {
  const rank = (name: string) => {
    const at = ORDER.indexOf(name);
    return at < 0 ? ORDER.length : at;
  };
  return [...parameters]
    .map((pair, at) => ({ pair, at }))
    .sort((a, b) => rank(a.pair[0]) - rank(b.pair[0]) || a.at - b.at)
    .map(({ pair }) => `${written(pair[0])}=${written(pair[1])}`)
    .join("&");
}

/** The last value of a parameter, as with any repeated setting. */
export function parameter(parameters: Parameters, name: string): string | null {
  for (let at = parameters.length - 1; at >= 0; at -= 1) {
    const pair = parameters[at];
    if (pair && pair[0] === name) return pair[1];
  }
  return null;
}

/** What goes along from page to page: the range, what belongs to it, and the question to come back to. */
export function carried(parameters: Parameters, ...more: readonly string[]): Parameters {
  return ["from", "to", "tz", "live", ...more].flatMap((name) => {
    const value = parameter(parameters, name);
    return value === null ? [] : [[name, value] as const];
  });
}

export type Changes = Readonly<Record<string, string | null>>;

/** Sets or (null) removes parameters and keeps every other. */
export function changed(parameters: Parameters, changes: Changes): Parameters {
  const kept = parameters.filter(([name]) => !(name in changes));
  const added = Object.entries(changes).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  return [...kept, ...added];
}

const inBrowser = typeof window !== "undefined";

/** The folder that the page lives in, with a slash at its end: a proxy may serve it below a path. */
export const basePath: string = inBrowser ? new URL(".", document.baseURI).pathname : "/";

function here(): Place {
  if (!inBrowser) return { path: "", parameters: [] };
  const { pathname, search } = window.location;
  const path = pathname.startsWith(basePath) ? pathname.slice(basePath.length) : "";
  return { path: path.replace(/\/+$/, ""), parameters: parseParameters(search) };
}

export const place = signal<Place>(here());

if (inBrowser) {
  window.addEventListener("popstate", () => {
    place.value = here();
  });
}

export function href(path: string, parameters: Parameters): string {
  const query = formatParameters(parameters);
  return `${basePath}${path}${query ? `?${query}` : ""}`;
}

/** Goes to another place. `push` makes a step that "back" undoes, `replace` changes the step that we are at. */
export function go(path: string, parameters: Parameters, how: "push" | "replace"): void {
  const next = href(path, parameters);
  const now = window.location.pathname + window.location.search;
  if (next !== now) {
    if (how === "push") window.history.pushState(null, "", next);
    else window.history.replaceState(null, "", next);
  }
  place.value = { path, parameters: parseParameters(next.split("?")[1] ?? "") };
}

/** Changes parameters of the present place. */
export function change(changes: Changes, how: "push" | "replace"): void {
  const now = place.peek();
  go(now.path, changed(now.parameters, changes), how);
}

/** The present place as a whole address, to be copied. */
export function wholeAddress(parameters: Parameters): string {
  return new URL(href(place.peek().path, parameters), window.location.href).href;
}
