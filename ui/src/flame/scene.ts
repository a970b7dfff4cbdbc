// What each box of a picture looks like: colour bucket, ink, hatching, label. The canvas and the drawing for export ask
// the same questions here, so that they show the same. Holds per-model caches; a new look is a new scene.

import { diffStep, hasNoSymbols, type Palette, packageSlots, SLOT, valueStep } from "./colour.ts";
import { numberAt } from "./column.ts";
import { changeOf, strengthOf, totalsOf } from "./diff.ts";
import { fitted, type Label, labelOf, type TextMeasure } from "./label.ts";
import type { FlameLayout } from "./layout.ts";
import { nameOf } from "./model.ts";
import { matchesBefore } from "./search.ts";
import type { FlameText } from "./text.ts";
import type { ColourBy, DiffMode, FlameModel, Matches } from "./types.ts";
import type { Boxes } from "./walk.ts";

export interface Look {
  readonly palette: Palette;
  readonly colourBy: ColourBy;
  readonly diffMode: DiffMode;
  readonly text: FlameText;
  readonly matches: Matches | null;
  /** Boxes above this node are its callers and fade. */
  readonly focus: number;
  /** Boxes of this frame have an edge; −1 = none. */
  readonly chosenFrame: number;
}

/** Buckets beyond the colours of functions. */
export const BUCKET = { merged: 32, match: 33, faded: 64, count: 128 } as const;

/** Room at either side of a label, and the narrowest box that has one, in CSS pixels. */
export const LABEL_PADDING = 4;
export const LABEL_BOX_MIN = 28;

export class Scene {
  private readonly slots: Uint8Array | null;
  private readonly before: Uint32Array | null;
  private readonly labels: (Label | undefined)[];
  private readonly shares = new Map<number, string>();
  private readonly totals: readonly [number, number];
  private readonly focusDepth: number;

  constructor(
    readonly model: FlameModel,
    readonly layout: FlameLayout,
    readonly look: Look,
  ) {
    this.slots = look.colourBy === "package" ? packageSlots(model) : null;
    this.before = look.matches ? matchesBefore(model, layout, look.matches) : null;
    this.labels = new Array(model.frames.size);
    const [left, right] = totalsOf(model);
    this.totals = [Number(left), Number(right)];
    this.focusDepth = model.depth[look.focus] ?? 0;
  }

  /** The bucket of a box: those of one bucket are filled with one colour. */
  bucket(boxes: Boxes, index: number): number {
    const position = boxes.position[index] as number;
    const blockEnd = boxes.blockEnd[index] as number;
    const { matches } = this.look;
    const faded = (boxes.row[index] as number) < this.focusDepth ? BUCKET.faded : 0;
    if (blockEnd !== 0) {
      const { before } = this;
      const holdsMatch = before !== null && (before[blockEnd] as number) > (before[position] as number);
      if (holdsMatch) return BUCKET.match + faded;
      return BUCKET.merged + (before ? BUCKET.faded : faded);
    }
    const node = this.layout.node[position] as number;
    const frame = this.model.frame[node] as number;
    if (matches) {
      return matches.frames[frame] === 1 ? BUCKET.match + faded : this.slot(node, frame) + BUCKET.faded;
    }
    return this.slot(node, frame) + faded;
  }

  private slot(node: number, frame: number): number {
    if (this.slots) return this.slots[frame] as number;
    if (this.look.colourBy === "diff") {
      return diffStep(strengthOf(this.model, node, this.totals, this.look.diffMode));
    }
    if (node === 0 || frame === this.model.restFrame) return 0;
    const side = this.model.sides - 1;
    const column = this.model.self[side];
    const total = this.totals[side];
    return column && total ? valueStep(Math.abs(numberAt(column, node) / total)) : 0;
  }

  fill(bucket: number): string {
    const { palette, colourBy } = this.look;
    const slot = bucket & (BUCKET.faded - 1);
    if (slot === BUCKET.merged) return palette.merged;
    if (slot === BUCKET.match) return palette.match;
    if (colourBy === "value") return palette.values[slot] ?? palette.neutral;
    if (colourBy === "diff") return palette.diffs[slot] ?? palette.neutral;
    if (slot === SLOT.kernel) return palette.kernel;
    if (slot === SLOT.neutral) return palette.neutral;
    return slot === SLOT.rest ? palette.rest : (palette.ring[slot] ?? palette.neutral);
  }

  ink(bucket: number): string {
    const { palette } = this.look;
    const isMatch = (bucket & (BUCKET.faded - 1)) === BUCKET.match;
    return isMatch && !this.isFaded(bucket) ? palette.matchInk : palette.ink;
  }

  isFaded(bucket: number): boolean {
    return bucket >= BUCKET.faded && this.look.palette.edge === "";
  }

  /** Boxes without symbols, of what was left out, and of what is gone have lines across. */
  isHatched(boxes: Boxes, index: number): boolean {
    if (boxes.blockEnd[index] !== 0) return false;
    const node = this.layout.node[boxes.position[index] as number] as number;
    const frame = this.model.frame[node] as number;
    if (frame === this.model.restFrame) return true;
    if (this.look.colourBy !== "diff") return hasNoSymbols(this.model, frame);
    const right = this.model.total[1];
    return right !== undefined && numberAt(right, node) === 0;
  }

  isChosen(boxes: Boxes, index: number): boolean {
    const { chosenFrame } = this.look;
    if (chosenFrame < 0 || boxes.blockEnd[index] !== 0) return false;
    return this.model.frame[this.layout.node[boxes.position[index] as number] as number] === chosenFrame;
  }

  /** What fits of the name of a box, and beside it the share or the word of the change, where both fit. */
  label(boxes: Boxes, index: number, room: number, measure: TextMeasure): { name: string; note: string; at: number } {
    const position = boxes.position[index] as number;
    const node = this.layout.node[position] as number;
    const label = this.labelOf(node);
    const name = fitted(label, room, measure);
    const isWhole = name !== "" && (label.isAscii ? name === label.text : !name.endsWith("…"));
    const compared = this.look.colourBy === "diff";
    if (name === "" || (!isWhole && !compared)) return { name, note: "", at: 0 };
    const end = (text: string) => (label.isAscii ? text.length * measure.cell : measure.width(text)) + measure.cell;
    const at = end(name);
    if (room - at < measure.cell * 4 && !compared) return { name, note: "", at: 0 };
    const note = compared ? this.changeNote(node) : this.shareNote(position);
    const wide = Math.max(note.length * measure.cell, measure.width(note));
    if (isWhole && wide <= room - at) return { name, note, at };
    // In a comparison the change says more than where a name begins; only whole parts of a name are left out for it.
    const short = compared ? fitted(label, room - wide - measure.cell, measure) : "";
    return short === "" || short.includes("…") ? { name, note: "", at: 0 } : { name: short, note, at: end(short) };
  }

  private labelOf(node: number): Label {
    const frame = this.model.frame[node] as number;
    const { text } = this.look;
    if (frame === this.model.restFrame) return labelOf(text.rest(this.model.rest.get(node) ?? 0), "");
    let label = this.labels[frame];
    if (!label) {
      label = labelOf(nameOf(this.model, node), node === 0 ? text.total : text.noName);
      this.labels[frame] = label;
    }
    return label;
  }

  private shareNote(position: number): string {
    const thousandths = Math.round(((this.layout.width[position] as number) / this.layout.span) * 1000);
    let note = this.shares.get(thousandths);
    if (note === undefined) {
      note = this.look.text.numbers.share(thousandths / 1000);
      this.shares.set(thousandths, note);
    }
    return note;
  }

  private changeNote(node: number): string {
    const change = changeOf(this.model, node, this.look.diffMode);
    const words = this.look.text.change;
    if (change.word !== "more" && change.word !== "less") return words[change.word];
    return words[change.word](timesText(change.times));
  }
}

/** `1.8`, `12`, `0.45`: now in units of before, short enough for a box. */
export function timesText(times: number): string {
  if (times >= 9.95) return String(Math.round(times));
  if (times < 0.005) return "<0.01";
  return times < 1.095 ? times.toFixed(2) : times.toFixed(1);
}
