// Trees to look at: names of all kinds, and a comparison with everything that can happen between two sides.

import { partsFrom } from "../src/flame/fixtures.ts";
import type { FlameParts } from "../src/flame/wire.ts";
import { partsOf, randomFrom, randomTree } from "./tree.ts";

/** Names that have broken pages: scripts, directions, emoji, length, mark-up, control characters, nothing. */
export const ODD_NAMES = [
  "处理请求::解码器::读取下一个记录",
  "שלום::עולם::קריאה",
  "معالجة الطلب (خادم)",
  "🔥🔥 👨‍👩‍👧 emoji::call",
  "<img src=x onerror=alert(1)>",
  "<script>alert(1)</script>&amp;",
  `long_${"x".repeat(10_235)}`,
  `长${"名".repeat(3_400)}`,
  "a\u0000b\u001b[31mred\u0007\nnext line",
  "right\u202eto left\u202c override",
  "e\u0301\u0302\u0303 combining Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!",
  "",
  "tab\tand\u200bzero\u200bwidth",
  "half \ud800 a pair",
] as const;

export function oddParts(): FlameParts {
  const children = ODD_NAMES.map(
    (name, at) => [`${name.replaceAll("|", "/")}|p${at}`, 40 - at, [`child of ${at}|p${at}`, 60 - at * 3]] as const,
  );
  return partsFrom(["", 0, ["main|app", 5, ...children]]);
}

export function diffParts(): FlameParts {
  const parts = partsOf(randomTree(4_000, 9));
  const random = randomFrom(4);
  const own = parts.self[0] ?? [];
  const left = new BigInt64Array(own.length);
  const right = new BigInt64Array(own.length);
  const factor = parts.frames.map(() => [0, 1, 1, 1, 0.5, 1.8, 3, -1][Math.floor(random() * 8)] as number);
  for (let node = 0; node < own.length; node++) {
    const value = own[node] as bigint;
    const times = factor[parts.frame[node] as number] as number;
    left[node] = times < 0 ? 0n : value;
    right[node] = BigInt(Math.round(Number(value) * Math.abs(times)));
  }
  const total = [left, right].map((side) => summed(parts.depth, side));
  return {
    ...parts,
    meta: { ...parts.meta, totals: total.map((side) => String(side[0])) },
    total,
    self: [left, right],
  };
}

function summed(depth: ArrayLike<number>, own: BigInt64Array): BigInt64Array {
  const total = own.slice();
  const open: number[] = [];
  const parent = Array.from({ length: own.length }, (_, node) => {
    const level = depth[node] as number;
    open[level] = node;
    return level === 0 ? 0 : (open[level - 1] as number);
  });
  for (let node = own.length - 1; node > 0; node--) {
    const above = parent[node] as number;
    total[above] = (total[above] as bigint) + (total[node] as bigint);
  }
  return total;
}
