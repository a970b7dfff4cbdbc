// Selectors, as far as the page has to understand them: a list of matchers that can be shown as chips and changed. What
// it cannot read it hands to the server as it is; the server's parser is the judge.

export type Operator = "=" | "!=" | "=~" | "!~";

export interface Matcher {
  readonly name: string;
  readonly operator: Operator;
  readonly value: string;
}

export const SERVICE = "service_name";

/** Matchers of `{a="b",c=~"d"}`, or null where the text is more than the page can show as chips. */
export function readSelector(text: string): Matcher[] | null {
  const body = text.trim();
  if (body === "") return [];
  if (!body.startsWith("{") || !body.endsWith("}")) return null;
  const matchers: Matcher[] = [];
  let rest = body.slice(1, -1).trim();
  while (rest !== "") {
    const found = /^(?:"((?:[^"\\]|\\.)*)"|([^\s"'`=!~,{}]+))\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)\s*/.exec(
      rest,
    );
    if (!found) return null;
    const name = found[1] === undefined ? (found[2] ?? "") : unquote(found[1]);
    const value = unquote(found[4] ?? "");
    if (name === null || value === null || name === "") return null;
    matchers.push({ name, operator: found[3] as Operator, value });
    rest = rest.slice(found[0].length);
  }
  return matchers;
}

/** Undoes the escapes that `quote` writes; null for rarer ones of Go, which are left to the server. */
function unquote(text: string): string | null {
  let known = true;
  const plain = text.replace(/\\(u[\da-fA-F]{4}|.)/g, (_, letter: string) => {
    const meaning: Record<string, string> = { n: "\n", t: "\t", r: "\r", '"': '"', "\\": "\\" };
    const plain = letter.length > 1 ? String.fromCharCode(Number.parseInt(letter.slice(1), 16)) : meaning[letter];
    if (plain === undefined) known = false;
    return plain ?? "";
  });
  return known ? plain : null;
}

// Controls and direction marks would act on the terminal, or the line of text, that a selector is pasted into.
const UNSAFE = /["\\]|\p{Cc}|[\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

function quote(text: string): string {
  const escapes: Record<string, string> = { "\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\" };
  const code = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `"${text.replace(UNSAFE, (letter) => escapes[letter] ?? code(letter))}"`;
}

export function writeSelector(matchers: readonly Matcher[]): string {
  if (matchers.length === 0) return "";
  const name = (text: string) => (/^[A-Za-z_][\w.]*$/.test(text) ? text : quote(text));
  return `{${matchers.map((m) => `${name(m.name)}${m.operator}${quote(m.value)}`).join(",")}}`;
}

/** The one service that the matchers choose, if they choose one by name. */
export function serviceOf(matchers: readonly Matcher[]): string | null {
  return matchers.find((m) => m.name === SERVICE && m.operator === "=")?.value ?? null;
}

/** Puts a service in place of the one chosen, first in the list; the other matchers stay. */
export function withService(matchers: readonly Matcher[], service: string | null): Matcher[] {
  const others = matchers.filter((m) => !(m.name === SERVICE && m.operator === "="));
  return service === null ? others : [{ name: SERVICE, operator: "=", value: service }, ...others];
}

/** Whether a pattern is surely none: what the server reads and browsers do not (`(?i)`, `(?P<name>…)`) passes. */
export function isBadPattern(pattern: string): boolean {
  try {
    new RegExp(
      pattern
        .replace(/\(\?[a-zA-Z-]+(?=[:)])/g, "(?")
        .replaceAll("(?)", "")
        .replaceAll("(?P<", "(?<"),
    );
    return false;
  } catch {
    return true;
  }
}

/** Whether a label set fits, for counts beside completions; the server decides what a query takes. */
export function fits(labels: Readonly<Record<string, string>>, matchers: readonly Matcher[]): boolean {
  return matchers.every((m) => {
    const value = labels[m.name] ?? "";
    if (m.operator === "=") return value === m.value;
    if (m.operator === "!=") return value !== m.value;
    try {
      return new RegExp(`^(?:${m.value})$`, "su").test(value) === (m.operator === "=~");
    } catch {
      return true;
    }
  });
}
