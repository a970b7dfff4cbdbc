// The flame graph's door: what the page may use. Everything behind it is pure but the view.

export { detailTexts, nameText, placeText, stackText } from "./a11y.ts";
export { DARK, diffStep, LIGHT, type Palette, packageSlots, stableHash } from "./colour.ts";
export { type Change, type ChangeWord, changeOf, compareValues, strengthOf, totalsOf } from "./diff.ts";
export { drawToPng, drawToSvg, type ExportOptions } from "./export.ts";
export { layOut } from "./layout.ts";
export { Legend } from "./legend.tsx";
export { decodeFlame, FlameFormatError, fileOf, nameOf, packageOf, pathTo } from "./model.ts";
export { findByPathHash, pathHash } from "./path.ts";
export { timesText } from "./scene.ts";
export { matchesBefore, nextMatch, parseQuery, searchMatches, testText } from "./search.ts";
export {
  canCount,
  type FunctionRow,
  type FunctionSide,
  type Sandwich,
  sandwich,
  topTable,
} from "./table.ts";
export { type FlameNumbers, type FlameText, flameEn, flameZh } from "./text.ts";
export { readPalette } from "./tokens.ts";
export type * from "./types.ts";
export { FlameView } from "./view.tsx";
export { encodeFlame, MEDIA_TYPE } from "./wire.ts";
