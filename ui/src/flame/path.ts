// A name for a node that outlives the reply: a 64-bit hash of the names from the root down, in base 32. Found again in
// other data by what the functions are called, never by place. The same path has the same hash in every release.

import { pathTo } from "./model.ts";
import type { FlameModel } from "./types.ts";

const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH = 13;

/** Two halves of a hash. */
interface Halves {
  readonly high: number;
  readonly low: number;
}

const ROOT: Halves = { high: 0x6a09e667, low: 0xbb67ae85 };

/** The hash of a node's path. */
export function pathHash(model: FlameModel, node: number): string {
  let at = ROOT;
  for (const one of pathTo(model, node).slice(1)) at = step(at, hashText(textOf(model, one)));
  return write(at);
}

/** The node with this hash; null if the path is not in this data, or the text is no hash. */
export function findByPathHash(model: FlameModel, hash: string): number | null {
  const wanted = read(hash);
  if (!wanted) return null;
  if (wanted.high === ROOT.high && wanted.low === ROOT.low) return 0;
  const nameHigh = new Uint32Array(model.frames.size);
  const nameLow = new Uint32Array(model.frames.size);
  for (let frame = 0; frame < model.frames.size; frame++) {
    const { high, low } = hashText(textOfFrame(model, frame));
    nameHigh[frame] = high;
    nameLow[frame] = low;
  }
  const high = new Uint32Array(model.depthMax + 1);
  const low = new Uint32Array(model.depthMax + 1);
  high[0] = ROOT.high;
  low[0] = ROOT.low;
  for (let node = 1; node < model.size; node++) {
    const depth = model.depth[node] as number;
    const frame = model.frame[node] as number;
    const ownHigh = mix(high[depth - 1] as number, nameHigh[frame] as number, 0x9e3779b1);
    const ownLow = mix(low[depth - 1] as number, (nameLow[frame] as number) ^ ownHigh, 0x85ebca77);
    if (ownHigh === wanted.high && ownLow === wanted.low) return node;
    high[depth] = ownHigh;
    low[depth] = ownLow;
  }
  return null;
}

function textOf(model: FlameModel, node: number): string {
  return textOfFrame(model, model.frame[node] as number);
}

/** What was left out has no name of its own; the mark cannot be a function's name. */
function textOfFrame(model: FlameModel, frame: number): string {
  return frame === model.restFrame ? "\0rest" : (model.strings[model.frames.name[frame] as number] ?? "");
}

function step(above: Halves, name: Halves): Halves {
  const high = mix(above.high, name.high, 0x9e3779b1);
  return { high, low: mix(above.low, name.low ^ high, 0x85ebca77) };
}

function mix(state: number, value: number, factor: number): number {
  let mixed = Math.imul(state ^ value, factor);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}

function hashText(text: string): Halves {
  let high = 0x811c9dc5;
  let low = 0x1b873593;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    high = Math.imul(high ^ unit, 0x01000193);
    low = Math.imul(low ^ unit, 0x5bd1e995);
    low ^= low >>> 15;
  }
  return { high: mix(high, text.length, 0xc2b2ae3d), low: mix(low, text.length, 0x27d4eb2f) };
}

function write({ high, low }: Halves): string {
  let value = (BigInt(high) << 32n) | BigInt(low);
  let text = "";
  for (let at = 0; at < LENGTH; at++) {
    text = DIGITS.charAt(Number(value & 31n)) + text;
    value >>= 5n;
  }
  return text;
}

function read(text: string): Halves | null {
  if (text.length !== LENGTH) return null;
  let value = 0n;
  for (const digit of text) {
    const at = DIGITS.indexOf(digit);
    if (at < 0) return null;
    value = (value << 5n) | BigInt(at);
  }
  if (value >> 64n !== 0n) return null;
  return { high: Number(value >> 32n), low: Number(value & 0xffff_ffffn) };
}
