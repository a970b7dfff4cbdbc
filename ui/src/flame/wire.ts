// The bytes of a flame reply, `application/vnd.everflame.flame`, version 1: numbers that reader and writer share, and
// the writer, which tests, the bench and the offline export use. The server's writer is its own; golden files under
// `crates/api/tests/golden/flame-v1` hold the two together.

export const MEDIA_TYPE = "application/vnd.everflame.flame";
export const MAGIC = 0x4d4c_4645; // "EFLM", little endian
export const VERSION = 1;
export const HEADER_BYTES = 16;
export const SECTION_BYTES = 12;
/** A version-1 reply has 16 kinds of sections; more than this is no reply of ours. */
export const SECTIONS_MAX = 64;

export const FLAG = { twoSides: 1, pruned: 2, inverted: 4 } as const;

export const SECTION = {
  meta: 1,
  stringLengths: 2,
  stringBytes: 3,
  frameName: 4,
  framePackage: 5,
  frameFile: 6,
  frameLine: 7,
  frameKind: 8,
  frameFlags: 9,
  depth: 10,
  frame: 11,
  total: 12,
  self: 13,
  restParent: 14,
  restCount: 15,
  restTotal: 16,
} as const;

/** Kinds of frames. */
export const KIND = {
  native: 0,
  kernel: 1,
  go: 2,
  jvm: 3,
  python: 4,
  node: 5,
  wasm: 6,
  gpu: 7,
  label: 8,
  pseudo: 9,
} as const;

export const FRAME_FLAG = { inlined: 1, noSymbols: 2, hidden: 4 } as const;

/** What a reply is written from; plain arrays, in the order of the format. */
export interface FlameParts {
  readonly meta: Readonly<Record<string, unknown>>;
  readonly flags?: number;
  readonly strings: readonly string[];
  readonly frames: readonly {
    readonly name: number;
    readonly package?: number;
    readonly file?: number;
    readonly line?: number;
    readonly kind?: number;
    readonly flags?: number;
  }[];
  readonly depth: ArrayLike<number>;
  readonly frame: ArrayLike<number>;
  /** One list per side. */
  readonly total: readonly ArrayLike<bigint>[];
  readonly self: readonly ArrayLike<bigint>[];
  readonly rest?: {
    readonly parent: ArrayLike<number>;
    readonly count: ArrayLike<number>;
    readonly total: readonly ArrayLike<bigint>[];
  };
}

/** Writes a reply. */
export function encodeFlame(parts: FlameParts): ArrayBuffer {
  const encoder = new TextEncoder();
  const strings = parts.strings.map((text) => encoder.encode(text));
  const bytes = new Uint8Array(strings.reduce((sum, one) => sum + one.length, 0));
  strings.reduce((at, one) => {
    bytes.set(one, at);
    return at + one.length;
  }, 0);
  const frames = parts.frames;
  const u32 = (values: ArrayLike<number>) => bytesOf(Uint32Array.from(values));
  const i64 = (columns: readonly ArrayLike<bigint>[]) =>
    bytesOf(BigInt64Array.from(columns.flatMap((column) => Array.from(column))));
  const sections: [number, Uint8Array][] = [
    [SECTION.meta, encoder.encode(JSON.stringify(parts.meta))],
    [SECTION.stringLengths, u32(strings.map((one) => one.length))],
    [SECTION.stringBytes, bytes],
    [SECTION.frameName, u32(frames.map((one) => one.name))],
    [SECTION.framePackage, u32(frames.map((one) => one.package ?? 0))],
    [SECTION.frameFile, u32(frames.map((one) => one.file ?? 0))],
    [SECTION.frameLine, u32(frames.map((one) => one.line ?? 0))],
    [SECTION.frameKind, Uint8Array.from(frames.map((one) => one.kind ?? 0))],
    [SECTION.frameFlags, Uint8Array.from(frames.map((one) => one.flags ?? 0))],
    [SECTION.depth, bytesOf(Uint16Array.from(parts.depth))],
    [SECTION.frame, u32(parts.frame)],
    [SECTION.total, i64(parts.total)],
    [SECTION.self, i64(parts.self)],
  ];
  if (parts.rest) {
    sections.push(
      [SECTION.restParent, u32(parts.rest.parent)],
      [SECTION.restCount, u32(parts.rest.count)],
      [SECTION.restTotal, i64(parts.rest.total)],
    );
  }
  const flags = (parts.flags ?? 0) | (parts.total.length === 2 ? FLAG.twoSides : 0) | (parts.rest ? FLAG.pruned : 0);
  return framed(flags, sections);
}

/** Header, table of sections, and the sections at multiples of 8. */
export function framed(flags: number, sections: readonly (readonly [number, Uint8Array])[]): ArrayBuffer {
  let at = padded(HEADER_BYTES + sections.length * SECTION_BYTES);
  const offsets = sections.map(([, content]) => {
    const offset = at;
    at = padded(at + content.length);
    return offset;
  });
  const buffer = new ArrayBuffer(at);
  const view = new DataView(buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint16(4, VERSION, true);
  view.setUint16(6, flags, true);
  view.setUint32(8, sections.length, true);
  view.setUint32(12, at, true);
  sections.forEach(([kind, content], index) => {
    const entry = HEADER_BYTES + index * SECTION_BYTES;
    const offset = offsets[index] ?? 0;
    view.setUint32(entry, kind, true);
    view.setUint32(entry + 4, offset, true);
    view.setUint32(entry + 8, content.length, true);
    new Uint8Array(buffer, offset, content.length).set(content);
  });
  return buffer;
}

function bytesOf(values: Uint16Array | Uint32Array | BigInt64Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

function padded(length: number): number {
  return Math.ceil(length / 8) * 8;
}
