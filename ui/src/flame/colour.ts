// Colours of boxes: a ring of 24 of even lightness for packages, a ramp for values, blue to orange for comparisons
// (told apart by colour-blind eyes; words say the same), all with readable text in both themes. A package has the same
// place in the ring everywhere: the hash is that of the terminal and HTML pictures.

import type { FlameModel } from "./types.ts";
import { FRAME_FLAG, KIND } from "./wire.ts";

export const RING_SIZE = 24;
/** Steps of the ramp for values, and of the comparison (odd: the middle one is "the same"). */
export const VALUE_STEPS = 12;
export const DIFF_STEPS = 21;

/** Every colour of a picture, ready for a canvas or a drawing. */
export interface Palette {
  readonly isDark: boolean;
  readonly ground: string;
  readonly ink: string;
  readonly ring: readonly string[];
  readonly kernel: string;
  readonly neutral: string;
  /** Grey blocks of what is too narrow. */
  readonly merged: string;
  readonly rest: string;
  readonly values: readonly string[];
  readonly diffs: readonly string[];
  readonly match: string;
  readonly matchInk: string;
  readonly outline: string;
  readonly hatch: string;
  /** Boxes have an edge of this colour and nothing fades; empty where fills tell them apart. */
  readonly edge: string;
}

type Rgb = readonly [number, number, number];

/** A colour by lightness, strength and hue (OKLCH), as close as the screen has it. */
function colour(lightness: number, chroma: number, hue: number): string {
  const angle = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(angle);
  const b = chroma * Math.sin(angle);
  const long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return hex([
    4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
    -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
    -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short,
  ]);
}

function hex(linear: Rgb): string {
  const part = (value: number) => {
    const bounded = Math.min(1, Math.max(0, value));
    const curved = bounded <= 0.0031308 ? bounded * 12.92 : 1.055 * bounded ** (1 / 2.4) - 0.055;
    return Math.round(curved * 255)
      .toString(16)
      .padStart(2, "0");
  };
  return `#${linear.map(part).join("")}`;
}

const steps = (count: number) => Array.from({ length: count }, (_, step) => step);

/** The colours of one theme. */
function theme(isDark: boolean): Palette {
  const boxLightness = isDark ? 0.43 : 0.83;
  const chroma = isDark ? 0.075 : 0.085;
  // Neighbours on the ring differ a little in strength, too: a hue alone is hard to tell from the next.
  const ring = steps(RING_SIZE).map((step) =>
    colour(boxLightness, chroma * (step % 2 === 0 ? 1 : 0.72), (step * 360) / RING_SIZE + 20),
  );
  const values = steps(VALUE_STEPS).map((step) => {
    const part = step / (VALUE_STEPS - 1);
    return isDark
      ? colour(0.33 + 0.15 * part, 0.02 + 0.1 * part, 75 - 35 * part)
      : colour(0.94 - 0.2 * part, 0.02 + 0.13 * part, 85 - 30 * part);
  });
  const middle = (DIFF_STEPS - 1) / 2;
  const diffs = steps(DIFF_STEPS).map((step) => {
    // The root makes small changes visible.
    const strength = Math.sqrt(Math.abs(step - middle) / middle);
    const hue = step < middle ? 250 : 60;
    return isDark
      ? colour(0.38 + 0.08 * strength, 0.004 + 0.11 * strength, hue)
      : colour(0.92 - 0.2 * strength, 0.004 + 0.14 * strength, hue);
  });
  return {
    isDark,
    ground: isDark ? "#16191e" : "#ffffff",
    ink: isDark ? "#eceef2" : "#16191f",
    ring,
    kernel: isDark ? colour(0.42, 0.03, 255) : colour(0.8, 0.03, 255),
    neutral: isDark ? colour(0.38, 0.006, 260) : colour(0.88, 0.006, 260),
    merged: isDark ? colour(0.34, 0.008, 260) : colour(0.8, 0.008, 260),
    rest: isDark ? colour(0.34, 0.008, 260) : colour(0.85, 0.008, 260),
    values,
    diffs,
    match: isDark ? "#ff7ad1" : "#b3007d",
    matchInk: isDark ? "#16191f" : "#ffffff",
    outline: isDark ? "#ffffff" : "#0b1020",
    hatch: isDark ? "#ffffff26" : "#00000024",
    edge: "",
  };
}

export const LIGHT = theme(false);
export const DARK = theme(true);

/** In forced colours the system's own: boxes are told apart by their edges, found ones are filled. */
export const FORCED: Palette = {
  ...LIGHT,
  ground: "Canvas",
  ink: "CanvasText",
  ring: steps(RING_SIZE).map(() => "Canvas"),
  kernel: "Canvas",
  neutral: "Canvas",
  merged: "GrayText",
  rest: "Canvas",
  values: steps(VALUE_STEPS).map(() => "Canvas"),
  diffs: steps(DIFF_STEPS).map(() => "Canvas"),
  match: "Highlight",
  matchInk: "HighlightText",
  outline: "Highlight",
  hatch: "GrayText",
  edge: "CanvasText",
};

/** The hash of a package's name that every release and every picture shares: FNV-1a of the bytes, folded. */
export function stableHash(text: string): number {
  let low = 0x84222325;
  let high = 0xcbf29ce4;
  for (const byte of new TextEncoder().encode(text)) {
    low = (low ^ byte) >>> 0;
    // Times 0x100000001b3, in halves.
    const product = low * 0x1b3;
    const carried = Math.floor(product / 4_294_967_296);
    high = (Math.imul(high, 0x1b3) + Math.imul(low, 0x100) + carried) >>> 0;
    low = product >>> 0;
  }
  return (high ^ low) >>> 0;
}

/** A place in the ring per frame; 24 = kernel, 25 = no function (root, markers), 26 = the rest. */
export const SLOT = { kernel: RING_SIZE, neutral: RING_SIZE + 1, rest: RING_SIZE + 2 } as const;

export function packageSlots(model: FlameModel): Uint8Array {
  const { frames } = model;
  const slots = new Uint8Array(frames.size);
  const known = new Map<number, number>();
  for (let frame = 0; frame < frames.size; frame++) {
    const kind = frames.kind[frame];
    if (frame === model.restFrame) slots[frame] = SLOT.rest;
    else if (frame === model.frame[0] || kind === KIND.pseudo || kind === KIND.label) slots[frame] = SLOT.neutral;
    else if (kind === KIND.kernel) slots[frame] = SLOT.kernel;
    else {
      const string = frames.package[frame] as number;
      let slot = known.get(string);
      if (slot === undefined) {
        slot = stableHash(model.strings[string] ?? "") % RING_SIZE;
        known.set(string, slot);
      }
      slots[frame] = slot;
    }
  }
  return slots;
}

export function hasNoSymbols(model: FlameModel, frame: number): boolean {
  return ((model.frames.flags[frame] as number) & FRAME_FLAG.noSymbols) !== 0;
}

/** The step of a comparison's colour. */
export function diffStep(strength: number): number {
  const middle = (DIFF_STEPS - 1) / 2;
  return Math.round(middle + Math.max(-1, Math.min(1, strength)) * middle);
}

/** The step of a value's colour: its own share of everything; the root makes small ones visible. */
export function valueStep(share: number): number {
  return Math.round(Math.sqrt(Math.max(0, Math.min(1, share))) * (VALUE_STEPS - 1));
}
