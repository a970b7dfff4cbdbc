// Regular expressions in time that grows with the text and not with the ways to match it, whatever the pattern: a link
// with `\w*\w*\w*!` must not hold the page. A pattern becomes states, sets of states are made as text asks for them and
// kept within bounds. What one letter fits is asked of the browser's own expressions, so letters, classes, escapes and
// case mean what they mean there. Refused: references to groups and looking around, which need another way.

type Node =
  | { readonly kind: "letter"; readonly fits: RegExp }
  | { readonly kind: "edge"; readonly edge: "^" | "$" | "\\b" | "\\B" }
  | { readonly kind: "row"; readonly parts: readonly Node[] }
  | { readonly kind: "choice"; readonly parts: readonly Node[] }
  | { readonly kind: "repeat"; readonly part: Node; readonly min: number; readonly max: number };

/** A step: over a letter, past an edge, or to several others; none of them = found. */
interface Step {
  readonly fits?: RegExp;
  readonly edge?: string;
  readonly next: number[];
}

/** A set of steps that the text so far leads to, and what its last letter was. */
interface State {
  readonly steps: readonly number[];
  readonly before: "start" | "word" | "other";
  /** Ways of plain letters, and of all others and the end. */
  readonly near: (State | null | undefined)[];
  readonly far: Map<number, State | null>;
}

/** Counts such as {1000} are written out; a pattern that gets longer than this is refused. */
const STEPS_MAX = 4_000;
/** Kept sets and ways between them, over one pattern; beyond, all are forgotten. */
const KEPT_MAX = 20_000;
const END = -1;
const PLAIN_LETTERS = 128;

/** Something that says whether a text is found, as a `RegExp` does. */
export interface Pattern {
  readonly test: (text: string) => boolean;
}

/**
 * A pattern that never takes long. Throws where the browser knows no such expression, and for what is refused. Short
 * patterns that have no choice but how often one letter repeats are left to the browser, which is faster.
 */
export function linearPattern(source: string, flags: string): Pattern {
  const own = new RegExp(source, flags);
  const repeats = source.replace(/\\.|\[(?:\\.|[^\]])*\]/g, "a").match(/[*+?{]/g)?.length ?? 0;
  const plain = !source.includes("(") && repeats <= 1 && !/\\[1-9k]/.test(source);
  const slow = new Linear(new Reader(source, flags).whole());
  return { test: (text) => (plain && text.length <= PLAIN_MAX ? own.test(text) : slow.test(text)) };
}

/** One letter that repeats may be tried from each place of a text: longer ones are not left to the browser. */
const PLAIN_MAX = 1_000;

/** Reads an expression that the browser has accepted. */
class Reader {
  private at = 0;
  constructor(
    private readonly source: string,
    private readonly flags: string,
  ) {}

  whole(): Node {
    const node = this.choice();
    if (this.at < this.source.length) throw new Error(`cannot be read from place ${this.at} on`);
    return node;
  }

  private choice(): Node {
    const parts = [this.row()];
    while (this.source[this.at] === "|") {
      this.at++;
      parts.push(this.row());
    }
    return parts.length === 1 ? (parts[0] as Node) : { kind: "choice", parts };
  }

  private row(): Node {
    const parts: Node[] = [];
    while (this.at < this.source.length && !"|)".includes(this.source[this.at] as string)) {
      parts.push(this.repeated(this.atom()));
    }
    return { kind: "row", parts };
  }

  private take(pattern: RegExp): RegExpExecArray | null {
    const found = pattern.exec(this.source.slice(this.at));
    this.at += found?.[0].length ?? 0;
    return found;
  }

  private repeated(part: Node): Node {
    const found = this.take(/^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/);
    if (!found) return part;
    const [, sign, least, comma, most] = found;
    const min = sign ? (sign === "+" ? 1 : 0) : Number(least);
    const endless = sign ? sign !== "?" : comma !== "" && most === "";
    return { kind: "repeat", part, min, max: endless ? Infinity : sign ? 1 : Number(most || least) };
  }

  private atom(): Node {
    const edge = this.take(/^(?:\^|\$|\\[bB])/);
    if (edge) return { kind: "edge", edge: edge[0] as "^" };
    if (this.take(/^\((?:\?:|\?<[^=!][^>]*>|(?!\?))/)) {
      const inside = this.choice();
      this.at++; // the closing bracket
      return inside;
    }
    const refused = /^(?:\(\?|\\(?:[1-9k]|0\d))/.exec(this.source.slice(this.at));
    if (refused) throw new Error(`${refused[0]} is not supported`);
    const letter = this.take(/^(?:\\(?:x[\da-f]{2}|u[\da-f]{4}|c[a-z]|[\s\S])|\[(?:\\[\s\S]|[^\]])*\]|[\s\S])/i);
    return { kind: "letter", fits: new RegExp(`^${letter?.[0].replace(/^[{}\]]$/, "\\$&")}$`, this.flags) };
  }
}

class Linear {
  private readonly steps: Step[] = [{ next: [] }];
  private readonly entry: number;
  private known = new Map<string, State>();
  private ways = 0;
  private start = this.first();

  constructor(node: Node) {
    this.entry = this.write(node, 0);
    this.start = this.first();
  }

  private first(): State {
    return { steps: [], before: "start", near: new Array(PLAIN_LETTERS), far: new Map() };
  }

  /** Writes the steps of a part in front of what follows; where it begins. */
  private write(node: Node, next: number): number {
    if (node.kind === "row") return node.parts.reduceRight((after, part) => this.write(part, after), next);
    if (node.kind === "choice") return this.add({ next: node.parts.map((part) => this.write(part, next)) });
    if (node.kind === "letter") return this.add({ fits: node.fits, next: [next] });
    if (node.kind === "edge") return this.add({ edge: node.edge, next: [next] });
    let at = next;
    if (node.max === Infinity) {
      at = this.add({ next: [next] });
      this.steps[at]?.next.push(this.write(node.part, at));
    } else
      for (let more = node.min; more < node.max; more++) at = this.add({ next: [this.write(node.part, at), next] });
    for (let needed = 0; needed < node.min; needed++) at = this.write(node.part, at);
    return at;
  }

  private add(step: Step): number {
    if (this.steps.length >= STEPS_MAX) throw new Error("counts too far");
    return this.steps.push(step) - 1;
  }

  test(text: string): boolean {
    let state = this.start;
    for (let at = 0; at <= text.length; at++) {
      const code = at < text.length ? text.charCodeAt(at) : END;
      const isNear = code >= 0 && code < PLAIN_LETTERS;
      let next = isNear ? state.near[code] : state.far.get(code);
      if (next === undefined) {
        if (this.ways++ > KEPT_MAX) this.forget();
        next = this.follow(state, code);
        if (isNear) state.near[code] = next;
        else state.far.set(code, next);
      }
      if (next === null) return true;
      state = next;
    }
    return false;
  }

  private forget(): void {
    this.ways = 0;
    this.known = new Map();
    this.start = this.first();
  }

  /** Where a letter, or the end, leads to; null = found. */
  private follow(from: State, code: number): State | null {
    const letter = code === END ? "" : String.fromCharCode(code);
    const word = /\w/.test(letter);
    const holds = (edge: string) =>
      edge === "^"
        ? from.before === "start"
        : edge === "$"
          ? code === END
          : ((from.before === "word") === word) === (edge === "\\B");
    const seen = new Set<number>();
    const reached = new Set<number>();
    const open = [this.entry, ...from.steps];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      const { fits, edge, next } = this.steps[at] as Step;
      if (next.length === 0) return null;
      if (fits) {
        if (letter !== "" && fits.test(letter)) reached.add(next[0] as number);
      } else if (edge === undefined || holds(edge)) open.push(...next);
    }
    const steps = [...reached].sort((a, b) => a - b);
    const key = `${word} ${steps}`;
    let state = this.known.get(key);
    if (!state) {
      state = { ...this.first(), steps, before: word ? "word" : "other" };
      this.known.set(key, state);
    }
    return state;
  }
}
