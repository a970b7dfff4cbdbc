// The picture as a file: PNG and SVG from the same layout, walk, colours and labels as on the screen, all rows at once,
// under a line that says what it shows. Names are text in both. Refuses pictures higher than browsers draw: rows beyond
// are left out and the last line says how many.

import { detailTexts, nameText } from "./a11y.ts";
import { LIGHT } from "./colour.ts";
import type { TextMeasure } from "./label.ts";
import { type FlameLayout, layOut } from "./layout.ts";
import { type Canvas, FADED_ALPHA, measureWith, NOTE_ALPHA, paint } from "./paint.ts";
import { LABEL_BOX_MIN, LABEL_PADDING, type Look, Scene } from "./scene.ts";
import type { FlameModel, FlameViewProps } from "./types.ts";
import { focusOn } from "./viewport.ts";
import { type Boxes, noBoxes, walk } from "./walk.ts";

export interface ExportOptions
  extends Pick<FlameViewProps, "focus" | "matches" | "direction" | "order" | "colourBy" | "diffMode" | "text"> {
  /** What is shown: service, type, time. */
  readonly title: string;
  /** Said below when rows were left out. */
  readonly rowsLeftOut: (rows: number) => string;
  /** CSS pixels. */
  readonly width?: number;
}

const WIDTH = 1_400;
const ROW = 20;
const MARGIN = 10;
const HEADER = 46;
const FOOTER = 24;
/** PNG: canvases higher than this are refused by browsers. SVG: nobody scrolls further. */
const PNG_PIXELS_HIGH_MAX = 16_000;
const SVG_ROWS_MAX = 4_000;
const PNG_RATIO = 2;
const BOXES_MAX = 30_000;
const FONT = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';
const FONT_SIZE = 12;

/** Everything that both files draw. */
interface Drawing {
  readonly scene: Scene;
  readonly boxes: Boxes;
  readonly rows: number;
  readonly left: number;
  readonly lines: readonly [string, string];
}

function drawing(model: FlameModel, options: ExportOptions, pixels: number, rowsMax: number, least: number): Drawing {
  const diffMode = options.diffMode ?? "share";
  const { focus, matches, colourBy, text } = options;
  const layout = layOut(model, { order: options.order, diffMode });
  const look: Look = { palette: LIGHT, colourBy, diffMode, text, matches, focus, chosenFrame: -1 };
  const view = focusOn(model, layout, { width: pixels, height: layout.rows * ROW, rowHeight: ROW }, focus);
  const boxes = noBoxes();
  const sight = { x0: view.x0, x1: view.x1, rowFirst: 0, pixels, least, boxesMax: BOXES_MAX };
  walk(layout, { ...sight, rowEnd: layout.rows }, boxes);
  const deepest = rowsOf(boxes);
  const rows = Math.min(deepest, rowsMax);
  if (rows < deepest) walk(layout, { ...sight, rowEnd: rows }, boxes);
  const what = [nameText(model, focus, text), ...detailTexts(model, focus, 0, diffMode, text)].join(" · ");
  return { scene: new Scene(model, layout, look), boxes, rows, left: deepest - rows, lines: [options.title, what] };
}

function rowsOf(boxes: Boxes): number {
  let rows = 0;
  for (let at = 0; at < boxes.count; at++) rows = Math.max(rows, (boxes.row[at] as number) + 1);
  return rows;
}

/** A PNG, twice as fine as the screen's pixels; fails when the browser cannot make one. */
export async function drawToPng(model: FlameModel, options: ExportOptions): Promise<Blob> {
  const width = options.width ?? WIDTH;
  const pixels = (width - 2 * MARGIN) * PNG_RATIO;
  const rowsMax = Math.floor((PNG_PIXELS_HIGH_MAX / PNG_RATIO - HEADER - FOOTER) / ROW);
  const made = drawing(model, options, pixels, rowsMax, PNG_RATIO);
  const picture = document.createElement("canvas");
  picture.width = pixels;
  picture.height = Math.max(1, made.rows * ROW * PNG_RATIO);
  const whole = document.createElement("canvas");
  whole.width = width * PNG_RATIO;
  whole.height = HEADER * PNG_RATIO + picture.height + FOOTER * PNG_RATIO;
  const brush = picture.getContext("2d");
  const paper = whole.getContext("2d");
  if (!brush || !paper) throw new Error("this browser has no canvas of that size");
  const canvas: Canvas = {
    width: pixels,
    height: picture.height,
    rowHeight: ROW * PNG_RATIO,
    top: 0,
    direction: options.direction,
    ratio: PNG_RATIO,
    font: `${FONT_SIZE * PNG_RATIO}px ${FONT}`,
  };
  paint(brush, made.scene, made.boxes, canvas, measureWith(brush, canvas.font), made.scene.look.palette.hatch);
  paper.scale(PNG_RATIO, PNG_RATIO);
  paper.fillStyle = LIGHT.ground;
  paper.fillRect(0, 0, width, whole.height);
  paper.fillStyle = LIGHT.ink;
  paper.font = `600 14px ${FONT}`;
  paper.fillText(made.lines[0], MARGIN, 18, width - 2 * MARGIN);
  paper.font = `${FONT_SIZE}px ${FONT}`;
  paper.fillText(made.lines[1], MARGIN, 36, width - 2 * MARGIN);
  if (made.left > 0) {
    paper.fillText(options.rowsLeftOut(made.left), MARGIN, whole.height / PNG_RATIO - 8, width - 2 * MARGIN);
  }
  paper.drawImage(picture, MARGIN, HEADER, pixels / PNG_RATIO, picture.height / PNG_RATIO);
  return new Promise((resolve, reject) => {
    whole.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("this browser made no PNG"))), "image/png");
  });
}

/** An SVG: one group per colour, a title per box for the mouse, no script. */
export function drawToSvg(model: FlameModel, options: ExportOptions): string {
  const width = options.width ?? WIDTH;
  const made = drawing(model, options, width - 2 * MARGIN, SVG_ROWS_MAX, 1);
  const { scene, boxes, rows } = made;
  const height = HEADER + rows * ROW + FOOTER;
  const byBucket = new Map<number, string[]>();
  const labels: string[] = [];
  for (let at = 0; at < boxes.count; at++) {
    const bucket = scene.bucket(boxes, at);
    const group = byBucket.get(bucket) ?? [];
    byBucket.set(bucket, group);
    const x = MARGIN + (boxes.x[at] as number);
    const boxWidth = boxes.width[at] as number;
    const row = boxes.row[at] as number;
    const y = HEADER + (options.direction === "down" ? row : rows - 1 - row) * ROW;
    const drawn = boxWidth > 1 ? boxWidth - 1 : boxWidth;
    const place = `x="${x}" y="${y}" width="${drawn}" height="${ROW - 1}"`;
    group.push(`<rect ${place}><title>${escaped(titleOf(scene, boxes, at, options))}</title></rect>`);
    if (scene.isHatched(boxes, at) && boxWidth >= 6) labels.push(`<rect ${place} fill="url(#lines)"/>`);
    if (boxWidth < LABEL_BOX_MIN || boxes.blockEnd[at] !== 0) continue;
    const { name, note, at: noteAt } = scene.label(boxes, at, boxWidth - LABEL_PADDING * 2, CELLS);
    if (name === "") continue;
    const middle = y + ROW / 2 + 4;
    labels.push(`<text x="${x + LABEL_PADDING}" y="${middle}" fill="${scene.ink(bucket)}">${escaped(name)}</text>`);
    if (note === "") continue;
    const noteX = (x + LABEL_PADDING + noteAt).toFixed(1);
    labels.push(
      `<text x="${noteX}" y="${middle}" fill="${scene.ink(bucket)}" opacity="${NOTE_ALPHA}">${escaped(note)}</text>`,
    );
  }
  const groups = [...byBucket].map(([bucket, content]) => {
    const opacity = scene.isFaded(bucket) ? ` opacity="${FADED_ALPHA}"` : "";
    return `<g fill="${scene.fill(bucket)}"${opacity}>${content.join("")}</g>`;
  });
  const left =
    made.left > 0 ? [`<text x="${MARGIN}" y="${height - 8}">${escaped(options.rowsLeftOut(made.left))}</text>`] : [];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(made.lines[0])}</title>`,
    `<defs><pattern id="lines" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="1" height="6" fill="#000" fill-opacity="0.2"/></pattern></defs>`,
    `<rect width="100%" height="100%" fill="${LIGHT.ground}"/>`,
    `<g font-family="${escaped(FONT)}" font-size="${FONT_SIZE}" fill="${LIGHT.ink}">`,
    `<text x="${MARGIN}" y="18" font-size="14" font-weight="600">${escaped(made.lines[0])}</text>`,
    `<text x="${MARGIN}" y="36">${escaped(made.lines[1])}</text>`,
    ...groups,
    ...labels,
    ...left,
    "</g></svg>",
    "",
  ].join("\n");
}

/** The widest cell of the usual fonts of code; everything beyond Latin counts twice. Marks and joiners have no width. */
const CELL = 7.4;
const CELLS: TextMeasure = {
  cell: CELL,
  ellipsis: CELL,
  width: (text) => {
    let cells = 0;
    for (const character of text) {
      if (/\p{M}|\p{Cf}/u.test(character)) continue;
      cells += (character.codePointAt(0) ?? 0) < 0x300 || character === "…" ? 1 : 2;
    }
    return cells * CELL;
  },
};

function titleOf(scene: Scene, boxes: Boxes, at: number, options: ExportOptions): string {
  const { model, layout, look } = scene;
  const position = boxes.position[at] as number;
  const blockEnd = boxes.blockEnd[at] as number;
  if (blockEnd !== 0) {
    const share = blockWidth(layout, position, blockEnd) / layout.span;
    return `${options.text.mergedBoxes(blockEnd - position)} · ${options.text.numbers.share(share)}`;
  }
  const node = layout.node[position] as number;
  return [nameText(model, node, look.text), ...detailTexts(model, node, 0, look.diffMode, look.text)].join(" · ");
}

function blockWidth(layout: FlameLayout, from: number, end: number): number {
  const last = end - 1;
  return (layout.left[last] as number) + (layout.width[last] as number) - (layout.left[from] as number);
}

/** Text for XML. Names have what XML forbids made visible already; in titles from elsewhere it is replaced. */
function escaped(text: string): string {
  const marks: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/\p{Cc}|\p{Cs}/gu, "\ufffd").replace(/[&<>"]/g, (mark) => marks[mark] ?? "");
}
