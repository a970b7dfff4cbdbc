// Signed 64-bit numbers from the wire: as doubles for pictures, exactly for sums and text. Sums are kept as two halves
// in doubles, which stay exact for 2^21 numbers of any size and are far faster than big integers in a loop.

import type { Column } from "./types.ts";

const HIGH = 4_294_967_296;

/** A column over part of a reply. `offset` is a multiple of 8. */
export function columnOver(buffer: ArrayBuffer, offset: number, length: number): Column {
  return {
    words: new Int32Array(buffer, offset, length * 2),
    exact: new BigInt64Array(buffer, offset, length),
  };
}

/** A column of given numbers. */
export function columnOf(values: ArrayLike<bigint>): Column {
  const exact = BigInt64Array.from(values);
  return { words: new Int32Array(exact.buffer), exact };
}

/** A number as a double: exact up to 2^53, near enough above. */
export function numberAt(column: Column, at: number): number {
  return (column.words[at * 2 + 1] as number) * HIGH + ((column.words[at * 2] as number) >>> 0);
}

export function exactAt(column: Column, at: number): bigint {
  return column.exact[at] as bigint;
}

/** Sums by key, exactly: `add` in the hot loop, `exact` at the end. */
export class ExactSums {
  private readonly low: Float64Array;
  private readonly high: Float64Array;

  constructor(size: number) {
    this.low = new Float64Array(size);
    this.high = new Float64Array(size);
  }

  add(key: number, column: Column, at: number): void {
    this.low[key] = (this.low[key] as number) + ((column.words[at * 2] as number) >>> 0);
    this.high[key] = (this.high[key] as number) + (column.words[at * 2 + 1] as number);
  }

  isZero(key: number): boolean {
    return this.number(key) === 0;
  }

  number(key: number): number {
    return (this.high[key] as number) * HIGH + (this.low[key] as number);
  }

  /** All sums as doubles. */
  numbers(): Float64Array {
    const numbers = new Float64Array(this.low.length);
    for (let key = 0; key < numbers.length; key++) numbers[key] = this.number(key);
    return numbers;
  }

  exact(key: number): bigint {
    // Small sums are exact as doubles, and several big integers fewer each.
    const near = this.number(key);
    if (Number.isSafeInteger(near)) return BigInt(near);
    return BigInt(this.high[key] as number) * BigInt(HIGH) + BigInt(this.low[key] as number);
  }
}

/** Two exact numbers as a share of 1; nothing of nothing is nothing. */
export function shareOf(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number(part) / Number(whole);
}
