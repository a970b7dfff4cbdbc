// The two canvases of the graph and what is on them: the picture, drawn at most once per animation frame and only when
// something changed, and above it a second canvas for outlines, so that hovering never draws the picture again. Knows
// no Preact and no keys; it refuses canvases larger than the window, whatever the depth of the tree.

import { type Hit, hitAt } from "./hit.ts";
import type { TextMeasure } from "./label.ts";
import type { FlameLayout } from "./layout.ts";
import { type Canvas, measureWith, paint } from "./paint.ts";
import { type Look, Scene } from "./scene.ts";
import type { Direction, FlameModel } from "./types.ts";
import * as viewport from "./viewport.ts";
import { noBoxes, type Sight, walk } from "./walk.ts";

/** CSS pixels. */
export const ROW_HEIGHT = 20;
export const BOX_LEAST = 2;
const FONT_SIZE = 12;
export const ANIMATION_MS = 120;
/** Boxes of a picture 1,400 pixels wide, and in proportion for wider ones. */
const BOXES_MAX = 8_000;
const BOXES_AT_WIDTH = 1_400;
/** Above this many device pixels the picture is drawn a little coarser. */
const PIXELS_MAX = 6_000_000;
const RATIO_WHEN_LARGE = 1.5;

/** What was drawn since the stage exists. Tests of the whole page read the same off the scroller. */
export interface Counters {
  pictures: number;
  outlines: number;
  visited: number;
  boxes: number;
  labels: number;
}

export interface StageParts {
  readonly scroller: HTMLElement;
  /** Gives the scroller its height. */
  readonly spacer: HTMLElement;
  readonly picture: HTMLCanvasElement;
  readonly outlines: HTMLCanvasElement;
}

export class Stage {
  readonly counters: Counters = { pictures: 0, outlines: 0, visited: 0, boxes: 0, labels: 0 };
  view: viewport.View = viewport.WHOLE;
  /** Called when a picture stands still: what is under the pointer may be another box now. */
  onRest: (() => void) | null = null;
  private scene: Scene | null = null;
  private direction: Direction = "down";
  private size = { width: 0, height: 0, ratio: 1 };
  readonly boxes = noBoxes();
  private measure: TextMeasure | null = null;
  private font = "";
  private hatch: CanvasPattern | string = "transparent";
  private pending = 0;
  private animation: { from: viewport.View; to: viewport.View; begun: number } | null = null;
  private hovered: Hit | null = null;
  private selected: number | null = null;

  constructor(
    private readonly parts: StageParts,
    public model: FlameModel,
    public layout: FlameLayout,
  ) {
    // What is on the canvas cannot be read off the page; tests take it from here and compare it with the strokes.
    Object.assign(parts.scroller, { stage: this });
  }

  /** Another tree or another order; the view is set by who calls. */
  setLayout(model: FlameModel, layout: FlameLayout): void {
    if (layout === this.layout) return;
    this.model = model;
    this.layout = layout;
    this.hovered = null;
    this.selected = null;
    this.scene = null;
    this.fitSpacer();
  }

  /** How boxes look; the picture is drawn again. */
  setLook(look: Look, font: string): void {
    this.scene = new Scene(this.model, this.layout, look);
    if (font !== this.font) {
      this.font = font;
      this.measure = null;
    }
    this.hatch = this.makeHatch(look.palette.hatch);
    this.schedule();
  }

  setDirection(direction: Direction): void {
    if (direction === this.direction) return;
    this.direction = direction;
    this.placeScroll();
    this.schedule();
  }

  /** Takes the size of the scroller; true when it has one. */
  resize(): boolean {
    const { clientWidth: width, clientHeight: height } = this.parts.scroller;
    const wanted = globalThis.devicePixelRatio || 1;
    const ratio = width * height * wanted * wanted > PIXELS_MAX ? Math.min(wanted, RATIO_WHEN_LARGE) : wanted;
    if (width === this.size.width && height === this.size.height && ratio === this.size.ratio) return width > 0;
    if (ratio !== this.size.ratio) this.measure = null;
    this.size = { width, height, ratio };
    for (const canvas of [this.parts.picture, this.parts.outlines]) {
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(height * ratio));
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    this.fitSpacer();
    this.view = viewport.clamp(this.view, this.layout, this.frame());
    this.drawNow();
    return width > 0;
  }

  frame(): viewport.Frame {
    return {
      width: Math.max(1, this.size.width),
      height: Math.max(1, this.size.height),
      rowHeight: this.rowHeight(),
    };
  }

  /** Rows are whole device pixels high. */
  private rowHeight(): number {
    return Math.round(ROW_HEIGHT * this.size.ratio) / this.size.ratio;
  }

  /** Moves to a view, over a short time where that is wanted. */
  moveTo(view: viewport.View, animated: boolean): void {
    const to = viewport.clamp(view, this.layout, this.frame());
    if (viewport.sameView(to, this.view)) {
      this.animation = null;
      return;
    }
    if (animated && this.scene) {
      this.animation = { from: this.view, to, begun: performance.now() };
    } else {
      this.animation = null;
      this.view = to;
      this.placeScroll();
    }
    this.schedule();
  }

  /** Where the view will be when it has come to rest. */
  destination(): viewport.View {
    return this.animation?.to ?? this.view;
  }

  /** The scroller was moved by the browser. */
  takeScroll(): void {
    if (this.animation) return;
    const max = viewport.scrollMax(this.layout, this.frame());
    const { scrollTop } = this.parts.scroller;
    const top = Math.max(0, this.direction === "down" ? scrollTop : max - scrollTop);
    if (Math.abs(top - this.view.top) < 0.5) return;
    this.view = { ...this.view, top };
    this.schedule();
  }

  private placeScroll(): void {
    const max = viewport.scrollMax(this.layout, this.frame());
    const wanted = this.direction === "down" ? this.view.top : max - this.view.top;
    if (Math.abs(this.parts.scroller.scrollTop - wanted) >= 0.5) this.parts.scroller.scrollTop = wanted;
  }

  private fitSpacer(): void {
    const frame = this.frame();
    const rest = Math.max(0, viewport.scrollMax(this.layout, frame));
    this.parts.spacer.style.height = `${rest}px`;
  }

  /** What is at a point of the window. */
  hit(clientX: number, clientY: number): Hit | null {
    const box = this.parts.picture.getBoundingClientRect();
    const frame = this.frame();
    const x = (clientX - box.left) / frame.width;
    const y = clientY - box.top;
    if (x < 0 || x >= 1 || y < 0 || y >= frame.height) return null;
    const fromRoot = this.direction === "down" ? y : frame.height - y;
    const row = Math.floor((fromRoot + this.view.top) / frame.rowHeight);
    const part = this.view.x1 - this.view.x0;
    const least = (this.boxes.least / this.size.ratio / frame.width) * part;
    return hitAt(this.model, this.layout, this.view.x0 + x * part, row, least);
  }

  /** Where the box of a node is, in pixels of the window; cut to what is in sight. */
  boxOf(node: number): { x: number; y: number; width: number } {
    const box = this.parts.picture.getBoundingClientRect();
    const place = this.placeOf(this.layout.position[node] as number, this.model.depth[node] as number);
    return { x: box.left + place.x, y: box.top + place.y, width: place.width };
  }

  private placeOf(position: number, row: number): { x: number; y: number; width: number } {
    const { span } = this.layout;
    const x0 = (this.layout.left[position] as number) / span;
    return this.place(x0, x0 + (this.layout.width[position] as number) / span, row);
  }

  /** A part of the width in a row as CSS pixels from the canvas' corner. */
  private place(x0: number, x1: number, row: number): { x: number; y: number; width: number } {
    const frame = this.frame();
    const scale = frame.width / (this.view.x1 - this.view.x0);
    const x = Math.max(0, (x0 - this.view.x0) * scale);
    const right = Math.min(frame.width, (x1 - this.view.x0) * scale);
    const fromRoot = row * frame.rowHeight - this.view.top;
    const y = this.direction === "down" ? fromRoot : frame.height - fromRoot - frame.rowHeight;
    return { x, y, width: Math.max(0, right - x) };
  }

  setHover(hit: Hit | null): void {
    if (hit?.node === this.hovered?.node && hit?.merged === this.hovered?.merged) return;
    this.hovered = hit;
    this.drawOutlines();
  }

  setSelected(node: number | null): void {
    if (node === this.selected) return;
    this.selected = node;
    this.drawOutlines();
  }

  schedule(): void {
    if (this.pending === 0) this.pending = requestAnimationFrame((now) => this.step(now));
  }

  /** Draws before the browser paints: an opaque canvas is black from when it gets its size until something is on it. */
  drawNow(): void {
    if (this.animation) {
      this.draw();
      this.schedule();
      return;
    }
    if (this.pending !== 0) cancelAnimationFrame(this.pending);
    this.pending = 0;
    this.draw();
  }

  private step(now: number): void {
    this.pending = 0;
    if (this.animation) {
      const progress = Math.min(1, Math.max(0, (now - this.animation.begun) / ANIMATION_MS));
      const { from, to } = this.animation;
      this.view = progress >= 1 ? to : viewport.between(from, to, progress);
      if (progress >= 1) this.animation = null;
      this.placeScroll();
    }
    this.draw();
    if (this.animation) this.schedule();
    else this.onRest?.();
  }

  /** Draws the picture now. */
  draw(): void {
    const brush = this.parts.picture.getContext("2d", { alpha: false });
    if (!brush || !this.scene || this.size.width === 0) return;
    const canvas = this.canvas();
    this.measure ??= measureWith(brush, canvas.font);
    walk(this.layout, this.sight(), this.boxes);
    const painted = paint(brush, this.scene, this.boxes, canvas, this.measure, this.hatch);
    this.counters.pictures++;
    this.counters.visited = this.boxes.visited;
    this.counters.boxes = painted.boxes;
    this.counters.labels = painted.labels;
    const { dataset } = this.parts.scroller;
    dataset["pictures"] = String(this.counters.pictures);
    dataset["boxes"] = String(painted.boxes);
    dataset["visited"] = String(this.boxes.visited);
    this.drawOutlines();
  }

  private sight(): Sight {
    const [rowFirst, rowEnd] = viewport.rowsInSight(this.view, this.layout, this.frame());
    const { width, ratio } = this.size;
    return {
      x0: this.view.x0,
      x1: this.view.x1,
      rowFirst,
      rowEnd,
      pixels: Math.round(width * ratio),
      least: BOX_LEAST * ratio,
      boxesMax: Math.round(BOXES_MAX * Math.max(1, width / BOXES_AT_WIDTH)),
    };
  }

  private canvas(): Canvas {
    const { width, height, ratio } = this.size;
    return {
      width: Math.round(width * ratio),
      height: Math.round(height * ratio),
      rowHeight: Math.round(ROW_HEIGHT * ratio),
      top: Math.round(this.view.top * ratio),
      direction: this.direction,
      ratio,
      font: `${FONT_SIZE * ratio}px ${this.font}`,
    };
  }

  private drawOutlines(): void {
    const brush = this.parts.outlines.getContext("2d");
    if (!brush || !this.scene || this.size.width === 0) return;
    const { ratio } = this.size;
    brush.setTransform(ratio, 0, 0, ratio, 0, 0);
    brush.clearRect(0, 0, this.size.width, this.size.height);
    brush.strokeStyle = this.scene.look.palette.outline;
    this.counters.outlines++;
    const outline = (place: { x: number; y: number; width: number }, line: number) => {
      if (place.width <= 0) return;
      brush.lineWidth = line;
      const width = Math.max(3, place.width - 1);
      brush.strokeRect(place.x + line / 2, place.y + line / 2, width - line, this.rowHeight() - 1 - line);
    };
    const { hovered, selected } = this;
    if (hovered) outline(this.place(hovered.x0, hovered.x1, hovered.row), 1);
    if (selected !== null) {
      outline(this.placeOf(this.layout.position[selected] as number, this.model.depth[selected] as number), 2);
    }
  }

  private makeHatch(colour: string): CanvasPattern | string {
    const step = Math.round(8 * this.size.ratio);
    const tile = document.createElement("canvas");
    tile.width = step;
    tile.height = step;
    const brush = tile.getContext("2d");
    if (!brush) return "transparent";
    brush.strokeStyle = colour;
    brush.lineWidth = Math.max(1, step / 6);
    brush.beginPath();
    for (const shift of [-step, 0, step]) {
      brush.moveTo(shift, step);
      brush.lineTo(shift + step, 0);
    }
    brush.stroke();
    return brush.createPattern(tile, "repeat") ?? "transparent";
  }

  destroy(): void {
    if (this.pending !== 0) cancelAnimationFrame(this.pending);
    this.pending = 0;
    this.animation = null;
  }
}
