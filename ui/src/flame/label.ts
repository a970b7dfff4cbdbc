// Names as they are drawn: control and direction characters made visible, cut before anything is measured, and fitted
// into a box so that they never stick out and never end inside a glyph. Names are text; nothing here makes markup.

/** Longer names are cut before they are measured; no box is wide enough for more. */
const UNITS_MAX = 512;
const ELLIPSIS = "…";
/** Fewer characters than this say nothing. */
const SHOWN_MIN = 3;
const FIRST_STRONG_ISOLATE = "\u2068";
const POP_ISOLATE = "\u2069";

/** How wide text is, in the pixels of the drawing. */
export interface TextMeasure {
  /** Width of one ASCII character: the font is monospaced, or this is its widest. */
  readonly cell: number;
  readonly ellipsis: number;
  readonly width: (text: string) => number;
}

/** A name ready for drawing. */
export interface Label {
  readonly text: string;
  readonly isAscii: boolean;
}

// Controls, direction marks, invisible spaces and halves of characters; joiners stay, emoji and Persian need them.
const ODD = /\p{Cc}|[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\p{Cs}/gu;

const BLANK = /^\p{Zs}+$/u;

/** Makes visible what would change or hide other text; blanks alone stand in quotes. */
export function visible(text: string): string {
  if (BLANK.test(text)) return `"${text}"`;
  return text.replace(ODD, (odd) => {
    const code = odd.codePointAt(0) ?? 0;
    // As terminals write them: every font has these.
    if (code < 0x20 || code === 0x7f) return `^${String.fromCharCode(code ^ 0x40)}`;
    if (code >= 0xd800 && code <= 0xdfff) return "\ufffd";
    return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

/** A name as a label; `fallback` for an empty one. */
export function labelOf(name: string, fallback: string): Label {
  let text = name === "" ? fallback : name;
  if (text.length > UNITS_MAX) text = `${text.slice(0, UNITS_MAX)}${ELLIPSIS}`;
  text = visible(text);
  return { text, isAscii: isAscii(text) };
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) > 0x7e) return false;
  }
  return true;
}

/** What of a label fits into a width; empty when it would say nothing. */
export function fitted(label: Label, width: number, measure: TextMeasure): string {
  return label.isAscii ? fitCells(label.text, width, measure) : fitMeasured(label.text, width, measure);
}

/** By counting characters: no measuring. */
function fitCells(text: string, width: number, measure: TextMeasure): string {
  const cells = Math.floor(width / measure.cell);
  if (text.length <= cells) return text;
  if (cells < SHOWN_MIN) return "";
  const kept = Math.floor((width - measure.ellipsis) / measure.cell);
  const { start, isWhole } = endOfName(text, cells);
  if (isWhole) return text.slice(start);
  return kept < SHOWN_MIN ? "" : text.slice(start, start + kept) + ELLIPSIS;
}

/**
 * Where the end of a qualified name begins that says most in so many cells: the longest that is whole segments and
 * fits, else the last segment, whose end is cut. Neither if it would say much less than there is room for.
 */
function endOfName(text: string, cells: number): { start: number; isWhole: boolean } {
  let nesting = 0;
  let last = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charAt(at);
    if (unit === "<" || unit === "(" || unit === "[" || unit === "{") nesting++;
    else if (unit === ">" || unit === ")" || unit === "]" || unit === "}") nesting--;
    else if (nesting === 0 && (unit === "/" || unit === "." || (unit === ":" && text.charAt(at + 1) !== ":"))) {
      const length = text.length - at - 1;
      if (length <= cells) {
        if (length * 2 >= cells && length >= SHOWN_MIN) return { start: at + 1, isWhole: true };
        break;
      }
      last = at + 1;
    }
  }
  return { start: last, isWhole: false };
}

let segmenter: Intl.Segmenter | null = null;

/** By measuring whole characters, as a reader sees them; isolated, so that no direction leaks into what follows. */
function fitMeasured(text: string, width: number, measure: TextMeasure): string {
  const isolated = (part: string) => FIRST_STRONG_ISOLATE + part + POP_ISOLATE;
  // Nothing is narrower than half a cell on average: what is surely too long need not be measured.
  const units = Math.min(text.length, Math.ceil((width / measure.cell) * 4) + 8);
  if (units === text.length && measure.width(isolated(text)) <= width) return isolated(text);
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  const ends: number[] = [];
  for (const { index, segment } of segmenter.segment(text.slice(0, units))) ends.push(index + segment.length);
  if (units < text.length) ends.pop(); // may be cut in the middle
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (measure.width(isolated(text.slice(0, ends[middle - 1]))) + measure.ellipsis <= width) low = middle;
    else high = middle - 1;
  }
  // A wide character says as much as two narrow ones.
  if (low === 0 || (low < 2 && measure.width(text.slice(0, ends[0])) < measure.cell * 1.5)) return "";
  return isolated(text.slice(0, ends[low - 1])) + ELLIPSIS;
}
