// The words that the flame graph's modules share: the model that a reply becomes, what is asked of the picture, and
// what the component takes. No code here.

import type { Pattern } from "./linear.ts";
import type { FlameText } from "./text.ts";

/** A column of signed 64-bit numbers as they came over the wire; nothing is copied. */
export interface Column {
  /** Low word, high word, low word, …: fast and good enough for pictures. */
  readonly words: Int32Array;
  /** The same numbers exactly, for what is written out. */
  readonly exact: BigInt64Array;
}

/** What goes with the columns; `raw` is the whole object, with the same fields as the JSON reply. */
export interface FlameMeta {
  readonly unit: string;
  readonly sampleType: string;
  /** Exact total of each side. */
  readonly totals: readonly bigint[];
  readonly raw: Readonly<Record<string, unknown>>;
}

/** The functions: one entry per frame, strings by number. */
export interface Frames {
  readonly size: number;
  readonly name: Uint32Array;
  readonly package: Uint32Array;
  readonly file: Uint32Array;
  readonly line: Uint32Array;
  readonly kind: Uint8Array;
  readonly flags: Uint8Array;
}

/** A call tree in columns: nodes callers first, depth first; node 0 is the root. */
export interface FlameModel {
  readonly meta: FlameMeta;
  /** One, or two for a comparison: left (before), right (after). */
  readonly sides: 1 | 2;
  /** The server left small nodes out: table, callers and inverted numbers must then be asked for. */
  readonly pruned: boolean;
  readonly inverted: boolean;
  readonly strings: readonly string[];
  readonly frames: Frames;
  /** Number of nodes, boxes of what was left out included. */
  readonly size: number;
  readonly depth: Uint16Array;
  readonly depthMax: number;
  /** Number of nodes of each depth. */
  readonly rowSizes: Uint32Array;
  readonly frame: Uint32Array;
  /** Per side. */
  readonly total: readonly Column[];
  readonly self: readonly Column[];
  /** The root is its own parent. */
  readonly parent: Uint32Array;
  /** The node after the last one below a node. */
  readonly end: Uint32Array;
  /** How many nodes a box of what was left out stands for, by node. */
  readonly rest: ReadonlyMap<number, number>;
  /** The frame of those boxes; −1 where nothing was left out. */
  readonly restFrame: number;
}

/** The same thing under the name that it has on the wire. */
export type FlameReply = FlameModel;

export type Order = "size" | "name";
/** Down: root above (icicle). Up: root below (flame). */
export type Direction = "down" | "up";
export type ColourBy = "package" | "value" | "diff";
/** How two sides are laid over each other: as shares of their own total, or as they are. */
export type DiffMode = "share" | "absolute";

/** What is searched for. */
export interface Query {
  readonly field: "name" | "file" | "package";
  readonly pattern: Pattern | string;
  /** As it was typed. */
  readonly text: string;
}

/** Which boxes are found. */
export interface Matches {
  readonly query: Query;
  /** Per frame: 1 = found. */
  readonly frames: Uint8Array;
  /** Found nodes, callers first. */
  readonly nodes: Uint32Array;
  /** Value of every stack with a match, once each, per side. */
  readonly totals: readonly bigint[];
  /** The same as a share of everything, per side. */
  readonly shares: readonly number[];
}

/** What can be asked of a box through menu and keyboard; focus, zoom and search steps are the view's own. */
export type FlameAction =
  | "copy-name"
  | "copy-stack"
  | "copy-link"
  | "show-callers"
  | "search-name"
  | "fetch-rest"
  | "help"
  | "search"
  | "toggle-direction"
  | "toggle-colour";

/** The props of `FlameView`. */
export interface FlameViewProps {
  readonly model: FlameModel;
  /** The node that fills the width; 0 = everything. */
  readonly focus: number;
  readonly matches: Matches | null;
  readonly direction: Direction;
  readonly order: Order;
  readonly colourBy: ColourBy;
  /** For comparisons; default `share`. */
  readonly diffMode?: DiffMode;
  /** The words and the way numbers are written; see `text.ts`. */
  readonly text: FlameText;
  /** Changes when the theme does, so that colours are read again. */
  readonly theme: string;
  /** A function whose boxes are shown as chosen, such as the table's row; a frame's number or −1. */
  readonly chosenFrame?: number;
  readonly onFocus: (node: number) => void;
  /** A node was chosen by pointer or key; null = none. */
  readonly onSelect?: (node: number | null) => void;
  readonly onAction: (action: FlameAction, node: number) => void;
}
