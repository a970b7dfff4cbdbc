// Draws boxes on a canvas: one fill style per colour bucket, labels only where they say something, nothing outside the
// canvas. Works in device pixels; says how much it drew, which is what tests count.

import type { TextMeasure } from "./label.ts";
import { BUCKET, LABEL_BOX_MIN, LABEL_PADDING, type Scene } from "./scene.ts";
import type { Direction } from "./types.ts";
import type { Boxes } from "./walk.ts";

/** What of a 2D context is used; a canvas and a recorder in tests both have it. */
export type Brush = Pick<
  CanvasRenderingContext2D,
  | "fillRect"
  | "strokeRect"
  | "fillText"
  | "measureText"
  | "fillStyle"
  | "strokeStyle"
  | "lineWidth"
  | "font"
  | "textBaseline"
  | "direction"
  | "globalAlpha"
>;

/** Where rows are and how large things are, in device pixels. */
export interface Canvas {
  readonly width: number;
  readonly height: number;
  readonly rowHeight: number;
  /** How far rows are scrolled away from the root. */
  readonly top: number;
  readonly direction: Direction;
  /** Device pixels per CSS pixel. */
  readonly ratio: number;
  readonly font: string;
}

export interface Painted {
  readonly boxes: number;
  readonly labels: number;
}

export const FADED_ALPHA = 0.42;
export const NOTE_ALPHA = 0.85;
/** Narrower boxes are not hatched: the lines would hide the colour. */
const HATCH_BOX_MIN = 6;

let order = new Int32Array(1024);
let bucketOf = new Uint8Array(1024);
const starts = new Int32Array(BUCKET.count + 1);

/** Top edge of a row. */
export function rowTop(canvas: Canvas, row: number): number {
  return canvas.direction === "down"
    ? row * canvas.rowHeight - canvas.top
    : canvas.height - (row + 1) * canvas.rowHeight + canvas.top;
}

/** Draws all boxes; `hatch` is the pattern for boxes with lines across. */
export function paint(
  brush: Brush,
  scene: Scene,
  boxes: Boxes,
  canvas: Canvas,
  measure: TextMeasure,
  hatch: CanvasPattern | string,
): Painted {
  brush.globalAlpha = 1;
  brush.fillStyle = scene.look.palette.ground;
  brush.fillRect(0, 0, canvas.width, canvas.height);
  sortByBucket(scene, boxes);
  fillBoxes(brush, scene, boxes, canvas);
  markBoxes(brush, scene, boxes, canvas, hatch);
  return { boxes: boxes.count, labels: writeLabels(brush, scene, boxes, canvas, measure) };
}

/** Brings the boxes of each bucket together, by counting. */
function sortByBucket(scene: Scene, boxes: Boxes): void {
  const { count } = boxes;
  if (order.length < count) {
    order = new Int32Array(count * 2);
    bucketOf = new Uint8Array(count * 2);
  }
  starts.fill(0);
  for (let index = 0; index < count; index++) {
    const bucket = scene.bucket(boxes, index);
    bucketOf[index] = bucket;
    starts[bucket + 1] = (starts[bucket + 1] as number) + 1;
  }
  for (let bucket = 0; bucket < BUCKET.count; bucket++) {
    starts[bucket + 1] = (starts[bucket + 1] as number) + (starts[bucket] as number);
  }
  for (let index = count - 1; index >= 0; index--) {
    // From the back: what is left in `starts` is where each bucket begins.
    const end = bucketOf[index] as number;
    const at = (starts[end + 1] as number) - 1;
    order[at] = index;
    starts[end + 1] = at;
  }
}

function fillBoxes(brush: Brush, scene: Scene, boxes: Boxes, canvas: Canvas): void {
  const gap = Math.max(1, Math.round(canvas.ratio));
  const height = canvas.rowHeight - gap;
  for (let bucket = 0; bucket < BUCKET.count; bucket++) {
    const from = starts[bucket + 1] as number;
    const to = bucket + 2 <= BUCKET.count ? (starts[bucket + 2] as number) : boxes.count;
    if (from === to) continue;
    brush.fillStyle = scene.fill(bucket);
    brush.globalAlpha = scene.isFaded(bucket) ? FADED_ALPHA : 1;
    // A match that is too narrow to see is no match: it is drawn a little wider than it is.
    const least = (bucket & (BUCKET.faded - 1)) === BUCKET.match ? gap * 2 : 1;
    for (let at = from; at < to; at++) {
      const index = order[at] as number;
      const width = boxes.width[index] as number;
      const drawn = Math.max(least, width > gap ? width - gap : width);
      brush.fillRect(boxes.x[index] as number, rowTop(canvas, boxes.row[index] as number), drawn, height);
    }
  }
  brush.globalAlpha = 1;
}

/** Edges where colours do not tell boxes apart, lines across, and edges round the chosen function's boxes. */
function markBoxes(brush: Brush, scene: Scene, boxes: Boxes, canvas: Canvas, hatch: CanvasPattern | string): void {
  const gap = Math.max(1, Math.round(canvas.ratio));
  const { edge } = scene.look.palette;
  if (edge !== "") {
    brush.strokeStyle = edge;
    brush.lineWidth = gap;
    for (let index = 0; index < boxes.count; index++) {
      const width = (boxes.width[index] as number) - gap;
      if (width < gap * 2) continue;
      const y = rowTop(canvas, boxes.row[index] as number);
      brush.strokeRect((boxes.x[index] as number) + gap / 2, y + gap / 2, width - gap, canvas.rowHeight - gap * 2);
    }
  }
  brush.fillStyle = hatch;
  for (let index = 0; index < boxes.count; index++) {
    const width = boxes.width[index] as number;
    if (width < HATCH_BOX_MIN * canvas.ratio || !scene.isHatched(boxes, index)) continue;
    const y = rowTop(canvas, boxes.row[index] as number);
    brush.fillRect(boxes.x[index] as number, y, width - gap, canvas.rowHeight - gap);
  }
  if (scene.look.chosenFrame < 0) return;
  brush.strokeStyle = scene.look.palette.outline;
  brush.lineWidth = gap * 2;
  for (let index = 0; index < boxes.count; index++) {
    if (!scene.isChosen(boxes, index)) continue;
    const y = rowTop(canvas, boxes.row[index] as number);
    const width = Math.max(gap, (boxes.width[index] as number) - gap * 3);
    brush.strokeRect((boxes.x[index] as number) + gap, y + gap, width, canvas.rowHeight - gap * 3);
  }
}

function writeLabels(brush: Brush, scene: Scene, boxes: Boxes, canvas: Canvas, measure: TextMeasure): number {
  const least = LABEL_BOX_MIN * canvas.ratio;
  const padding = LABEL_PADDING * canvas.ratio;
  let labels = 0;
  brush.font = canvas.font;
  brush.textBaseline = "middle";
  brush.direction = "ltr";
  let ink = "";
  let alpha = 1;
  for (let at = 0; at < boxes.count; at++) {
    // In order of the buckets: the ink changes as rarely as it can.
    const index = order[at] as number;
    const width = boxes.width[index] as number;
    if (width < least || boxes.blockEnd[index] !== 0) continue;
    const { name, note, at: noteAt } = scene.label(boxes, index, width - padding * 2, measure);
    if (name === "") continue;
    const wanted = scene.ink(bucketOf[index] as number);
    if (wanted !== ink) {
      brush.fillStyle = wanted;
      ink = wanted;
    }
    if (alpha !== 1) {
      brush.globalAlpha = 1;
      alpha = 1;
    }
    const x = (boxes.x[index] as number) + padding;
    const y = rowTop(canvas, boxes.row[index] as number) + canvas.rowHeight / 2;
    brush.fillText(name, x, y);
    labels++;
    if (note === "") continue;
    brush.globalAlpha = NOTE_ALPHA;
    alpha = NOTE_ALPHA;
    brush.fillText(note, x + noteAt, y);
  }
  brush.globalAlpha = 1;
  return labels;
}

/** How wide text is with the brush's font; widths of measured names are kept, within bounds. */
export function measureWith(brush: Brush, font: string): TextMeasure {
  const KEPT_MAX = 20_000;
  brush.font = font;
  const widest = Math.max(
    ...["M", "W", "i", "m", "@", "_"].map((one) => brush.measureText(one.repeat(16)).width / 16),
  );
  const kept = new Map<string, number>();
  return {
    cell: widest,
    ellipsis: brush.measureText("…").width,
    width: (text) => {
      let width = kept.get(text);
      if (width === undefined) {
        if (kept.size >= KEPT_MAX) kept.clear();
        brush.font = font;
        width = brush.measureText(text).width;
        kept.set(text, width);
      }
      return width;
    },
  };
}
