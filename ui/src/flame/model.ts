// From a flame reply's bytes to the model: views over the buffer, nothing copied but names, and two columns that other
// modules need (parent, end). A reply that is cut, bent or made up is refused with the reason; what is returned
// can be walked without further checks. Boxes of what the server left out become nodes, so that they are drawn, hit
// and read like others.

import { columnOf, columnOver, exactAt } from "./column.ts";
import type { Column, FlameMeta, FlameModel, Frames } from "./types.ts";
import { FLAG, HEADER_BYTES, KIND, MAGIC, SECTION, SECTION_BYTES, SECTIONS_MAX, VERSION } from "./wire.ts";

/** Why a reply is no flame reply. */
export class FlameFormatError extends Error {
  override readonly name = "FlameFormatError";
}

/** Columns of the nodes that the reply names, before boxes for the rest are put in. */
interface Nodes {
  readonly depth: Uint16Array;
  readonly frame: Uint32Array;
  readonly total: readonly Column[];
  readonly self: readonly Column[];
}

/** What the server left out below some nodes. */
interface Rest {
  readonly parent: Uint32Array;
  readonly count: Uint32Array;
  readonly total: readonly Column[];
}

/** Reads a reply; throws `FlameFormatError`. */
export function decodeFlame(buffer: ArrayBuffer): FlameModel {
  const sections = new Sections(buffer);
  const sides = sections.flags & FLAG.twoSides ? 2 : 1;
  const strings = readStrings(sections);
  const frames = readFrames(sections, strings.length);
  const nodes = readNodes(sections, sides);
  const rest = readRest(sections, sides, nodes.depth.length);
  const pruned = (sections.flags & FLAG.pruned) !== 0;
  if (rest && rest.parent.length > 0 && !pruned)
    throw new FlameFormatError("the reply has a rest but is not marked as pruned");
  const meta = readMeta(sections.text(SECTION.meta), sides);
  const told = { meta, sides, pruned, inverted: (sections.flags & FLAG.inverted) !== 0, strings } as const;
  const tree = index(nodes, frames.size);
  if (!rest || rest.parent.length === 0) {
    return withEnds({ ...told, frames, ...nodes, ...tree, size: nodes.depth.length, rest: new Map(), restFrame: -1 });
  }
  const whole = withRest(nodes, endsOf(tree.parent), rest, frames.size);
  const withPseudo = addPseudoFrame(frames);
  return withEnds({
    ...told,
    frames: withPseudo,
    ...whole,
    ...index(whole, withPseudo.size),
    restFrame: frames.size,
  });
}

/** The column `end` costs a million nodes some milliseconds and only a search asks for it: it is made then. */
function withEnds(model: Omit<FlameModel, "end">): FlameModel {
  let ends: Uint32Array | null = null;
  return Object.defineProperty(model as FlameModel, "end", {
    enumerable: true,
    get: () => {
      ends ??= endsOf(model.parent);
      return ends;
    },
  });
}

function endsOf(parent: Uint32Array): Uint32Array {
  const end = new Uint32Array(parent.length);
  for (let node = parent.length - 1; node >= 0; node--) {
    if (end[node] === 0) end[node] = node + 1;
    const above = parent[node] as number;
    if (end[above] === 0) end[above] = end[node] as number;
  }
  return end;
}

/** The table of sections, checked. */
class Sections {
  readonly flags: number;
  private readonly entries = new Map<number, { offset: number; length: number }>();

  constructor(private readonly buffer: ArrayBuffer) {
    const size = buffer.byteLength;
    if (size < HEADER_BYTES) throw new FlameFormatError(`${size} bytes are shorter than the header`);
    const view = new DataView(buffer);
    if (view.getUint32(0, true) !== MAGIC) throw new FlameFormatError("does not begin with EFLM");
    const version = view.getUint16(4, true);
    if (version !== VERSION) throw new FlameFormatError(`version ${version} is not known, ${VERSION} is`);
    this.flags = view.getUint16(6, true);
    const count = view.getUint32(8, true);
    const length = view.getUint32(12, true);
    if (length !== size) throw new FlameFormatError(`says ${length} bytes, has ${size}`);
    const tableEnd = HEADER_BYTES + count * SECTION_BYTES;
    if (count > SECTIONS_MAX || tableEnd > size) throw new FlameFormatError(`${count} sections do not fit`);
    for (let at = HEADER_BYTES; at < tableEnd; at += SECTION_BYTES) {
      const kind = view.getUint32(at, true);
      const offset = view.getUint32(at + 4, true);
      const bytes = view.getUint32(at + 8, true);
      if (offset % 8 !== 0 || offset < tableEnd || offset + bytes > size) {
        throw new FlameFormatError(`section ${kind} at ${offset} with ${bytes} bytes is not inside ${size}`);
      }
      if (this.entries.has(kind)) throw new FlameFormatError(`section ${kind} is there twice`);
      this.entries.set(kind, { offset, length: bytes });
    }
  }

  has(kind: number): boolean {
    return this.entries.has(kind);
  }

  /** Offset and number of items of a section whose items have `width` bytes. */
  items(kind: number, width: number): { offset: number; length: number } {
    const entry = this.entries.get(kind);
    if (!entry) throw new FlameFormatError(`section ${kind} is missing`);
    if (entry.length % width !== 0) throw new FlameFormatError(`section ${kind} has ${entry.length} bytes`);
    return { offset: entry.offset, length: entry.length / width };
  }

  u8(kind: number): Uint8Array {
    const { offset, length } = this.items(kind, 1);
    return new Uint8Array(this.buffer, offset, length);
  }

  u16(kind: number): Uint16Array {
    const { offset, length } = this.items(kind, 2);
    return new Uint16Array(this.buffer, offset, length);
  }

  u32(kind: number): Uint32Array {
    const { offset, length } = this.items(kind, 4);
    return new Uint32Array(this.buffer, offset, length);
  }

  /** One column per side, each of `length` numbers. */
  i64(kind: number, sides: number, length: number): Column[] {
    const { offset, length: found } = this.items(kind, 8);
    expectLength(kind, found, sides * length);
    return Array.from({ length: sides }, (_, side) => columnOver(this.buffer, offset + side * length * 8, length));
  }

  text(kind: number): string {
    return decodeText(this.u8(kind), kind);
  }
}

function expectLength(kind: number, found: number, wanted: number): void {
  if (found !== wanted) throw new FlameFormatError(`section ${kind} has ${found} items instead of ${wanted}`);
}

function decodeText(bytes: Uint8Array, kind: number): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new FlameFormatError(`section ${kind} is not UTF-8`);
  }
}

/** All strings from one decoding: where each begins is counted on the bytes. */
function readStrings(sections: Sections): string[] {
  const lengths = sections.u32(SECTION.stringLengths);
  const bytes = sections.u8(SECTION.stringBytes);
  const text = decodeText(bytes, SECTION.stringBytes);
  const ascii = text.length === bytes.length;
  const strings: string[] = new Array(lengths.length);
  let byte = 0;
  let unit = 0;
  for (let id = 0; id < lengths.length; id++) {
    const end = byte + (lengths[id] as number);
    if (end > bytes.length) throw new FlameFormatError(`string ${id} ends behind its section`);
    const first = unit;
    if (ascii) {
      unit += end - byte;
    } else {
      if (byte < end && ((bytes[byte] as number) & 0xc0) === 0x80) {
        throw new FlameFormatError(`string ${id} begins inside a character`);
      }
      for (let at = byte; at < end; at++) {
        const value = bytes[at] as number;
        // A character of four bytes is two units long; bytes after the first count nothing.
        if ((value & 0xc0) !== 0x80) unit += value >= 0xf0 ? 2 : 1;
      }
    }
    strings[id] = text.slice(first, unit);
    byte = end;
  }
  if (byte !== bytes.length) throw new FlameFormatError(`${bytes.length - byte} bytes belong to no string`);
  if (strings[0] !== "") throw new FlameFormatError("string 0 is not empty");
  return strings;
}

function readFrames(sections: Sections, stringCount: number): Frames {
  const name = sections.u32(SECTION.frameName);
  const frames = {
    size: name.length,
    name,
    package: sections.u32(SECTION.framePackage),
    file: sections.u32(SECTION.frameFile),
    line: sections.u32(SECTION.frameLine),
    kind: sections.u8(SECTION.frameKind),
    flags: sections.u8(SECTION.frameFlags),
  };
  expectLength(SECTION.framePackage, frames.package.length, frames.size);
  expectLength(SECTION.frameFile, frames.file.length, frames.size);
  expectLength(SECTION.frameLine, frames.line.length, frames.size);
  expectLength(SECTION.frameKind, frames.kind.length, frames.size);
  expectLength(SECTION.frameFlags, frames.flags.length, frames.size);
  for (const ids of [frames.name, frames.package, frames.file]) {
    for (let frame = 0; frame < ids.length; frame++) {
      if ((ids[frame] as number) >= stringCount) {
        throw new FlameFormatError(`frame ${frame} names string ${ids[frame]} of ${stringCount}`);
      }
    }
  }
  return frames;
}

function readNodes(sections: Sections, sides: number): Nodes {
  const depth = sections.u16(SECTION.depth);
  const frame = sections.u32(SECTION.frame);
  expectLength(SECTION.frame, frame.length, depth.length);
  if (depth.length === 0) throw new FlameFormatError("the root is missing");
  return {
    depth,
    frame,
    total: sections.i64(SECTION.total, sides, depth.length),
    self: sections.i64(SECTION.self, sides, depth.length),
  };
}

function readRest(sections: Sections, sides: number, nodeCount: number): Rest | null {
  const kinds = [SECTION.restParent, SECTION.restCount, SECTION.restTotal];
  if (kinds.every((kind) => !sections.has(kind))) return null;
  const parent = sections.u32(SECTION.restParent);
  const count = sections.u32(SECTION.restCount);
  expectLength(SECTION.restCount, count.length, parent.length);
  const seen = new Set<number>();
  for (const node of parent) {
    if (node >= nodeCount) throw new FlameFormatError(`a rest belongs to node ${node} of ${nodeCount}`);
    if (seen.has(node)) throw new FlameFormatError(`node ${node} has two rests`);
    seen.add(node);
  }
  return { parent, count, total: sections.i64(SECTION.restTotal, sides, parent.length) };
}

function readMeta(text: string, sides: number): FlameMeta {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    throw new FlameFormatError("section 1 is not JSON");
  }
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
    throw new FlameFormatError("section 1 is no object");
  }
  const fields = raw as Record<string, unknown>;
  const totals = fields["totals"];
  if (!Array.isArray(totals) || totals.length !== sides || !totals.every((one) => /^-?\d{1,39}$/.test(String(one)))) {
    throw new FlameFormatError(`section 1 has no totals for ${sides} side(s)`);
  }
  const word = (key: string) => (typeof fields[key] === "string" ? (fields[key] as string) : "");
  return {
    unit: word("unit"),
    sampleType: word("sample_type"),
    totals: totals.map((one) => BigInt(String(one))),
    raw: fields,
  };
}

/** The parent of every node; refuses steps down by more than one, a second root and unknown frames. */
function index(nodes: Nodes, frameCount: number): Pick<FlameModel, "parent" | "depthMax" | "rowSizes"> {
  const { depth, frame } = nodes;
  const size = depth.length;
  const parent = new Uint32Array(size);
  const open = new Uint32Array(65_537);
  const sizes = new Uint32Array(65_536);
  if (depth[0] !== 0) throw new FlameFormatError("node 0 is not the root");
  let before = 0;
  let depthMax = 0;
  for (let node = 0; node < size; node++) {
    const own = depth[node] as number;
    if ((frame[node] as number) >= frameCount) {
      throw new FlameFormatError(`node ${node} is of frame ${frame[node]} of ${frameCount}`);
    }
    if (node > 0) {
      if (own === 0 || own > before + 1) {
        throw new FlameFormatError(`node ${node} of depth ${own} follows one of depth ${before}`);
      }
      parent[node] = open[own - 1] as number;
    }
    open[own] = node;
    sizes[own] = (sizes[own] as number) + 1;
    if (own > depthMax) depthMax = own;
    before = own;
  }
  return { parent, depthMax, rowSizes: sizes.slice(0, depthMax + 1) };
}

/** Puts a node for each rest behind the last node below its parent. */
function withRest(nodes: Nodes, end: Uint32Array, rest: Rest, restFrame: number) {
  const order = Array.from(rest.parent.keys()).sort((left, right) => {
    const leftParent = rest.parent[left] as number;
    const rightParent = rest.parent[right] as number;
    // Where several end at one place, the deepest comes first.
    return (end[leftParent] as number) - (end[rightParent] as number) || rightParent - leftParent;
  });
  const size = nodes.depth.length + order.length;
  const depth = new Uint16Array(size);
  const frame = new Uint32Array(size);
  const total = nodes.total.map(() => new BigInt64Array(size));
  const self = nodes.self.map(() => new BigInt64Array(size));
  const counts = new Map<number, number>();
  let from = 0;
  let to = 0;
  const copyUntil = (until: number) => {
    depth.set(nodes.depth.subarray(from, until), to);
    frame.set(nodes.frame.subarray(from, until), to);
    nodes.total.forEach((column, side) => {
      total[side]?.set(column.exact.subarray(from, until), to);
    });
    nodes.self.forEach((column, side) => {
      self[side]?.set(column.exact.subarray(from, until), to);
    });
    to += until - from;
    from = until;
  };
  for (const one of order) {
    const parent = rest.parent[one] as number;
    copyUntil(end[parent] as number);
    depth[to] = (nodes.depth[parent] as number) + 1;
    frame[to] = restFrame;
    rest.total.forEach((column, side) => {
      const value = exactAt(column, one);
      (total[side] as BigInt64Array)[to] = value;
      (self[side] as BigInt64Array)[to] = value;
    });
    counts.set(to, rest.count[one] as number);
    to += 1;
  }
  copyUntil(nodes.depth.length);
  return { depth, frame, total: total.map(columnOf), self: self.map(columnOf), size, rest: counts };
}

function addPseudoFrame(frames: Frames): Frames {
  const longer = (ids: Uint32Array) => {
    const copy = new Uint32Array(ids.length + 1);
    copy.set(ids);
    return copy;
  };
  const bytes = (values: Uint8Array, last: number) => {
    const copy = new Uint8Array(values.length + 1);
    copy.set(values);
    copy[values.length] = last;
    return copy;
  };
  return {
    size: frames.size + 1,
    name: longer(frames.name),
    package: longer(frames.package),
    file: longer(frames.file),
    line: longer(frames.line),
    kind: bytes(frames.kind, KIND.pseudo),
    flags: bytes(frames.flags, 0),
  };
}

/** Name, package and file of a node; empty for the root and for what was left out. */
export function nameOf(model: FlameModel, node: number): string {
  return model.strings[model.frames.name[model.frame[node] as number] as number] ?? "";
}

export function packageOf(model: FlameModel, node: number): string {
  return model.strings[model.frames.package[model.frame[node] as number] as number] ?? "";
}

export function fileOf(model: FlameModel, node: number): string {
  return model.strings[model.frames.file[model.frame[node] as number] as number] ?? "";
}

/** The nodes from the root to a node, both included. */
export function pathTo(model: FlameModel, node: number): number[] {
  const path = [node];
  for (let at = node; at !== 0; ) {
    at = model.parent[at] as number;
    path.push(at);
  }
  return path.reverse();
}
