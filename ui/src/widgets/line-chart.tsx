// Lines or bars along time, drawn by uPlot, and nothing else: what is chosen, pointed at or written about them is laid
// over by whoever uses it. Draws anew when data, size or colours change.

import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Chart } from "../state/series.ts";
import type { Window } from "../state/time.ts";
import type { Zone } from "../state/zone.ts";
import { markTexts, timeMarks } from "./axis.ts";
import { AXIS_BELOW, AXIS_LEFT, EDGE_RIGHT, EDGE_TOP, LINES_MAX } from "./plot-frame.ts";

interface Props {
  readonly chart: Chart;
  readonly window: Window;
  readonly zone: Zone;
  readonly height: number;
  readonly theme: string;
  readonly write: (value: number) => string;
  /** The line that stands out; −1 = none. */
  readonly lit: number;
}

/** Whether a line has exactly one value. */
function isAlone(values: readonly (number | null)[]): boolean {
  return values.filter((value) => value !== null).length === 1;
}

export function LineChart({ chart, window, zone, height, theme, write, lit }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const writer = useRef(write);
  writer.current = write;

  // `theme` stands for the colours that are read below.
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const style = getComputedStyle(element);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const single = chart.lines.length <= 1;
    const lines = chart.lines.slice(0, LINES_MAX);
    const times = Array.from({ length: chart.steps }, (_, at) => (chart.start + at * chart.step_ms) / 1000);
    const { bars, stepped } = UPlot.paths;
    const ink = colour("--ink-faint");
    const grid = colour("--line");
    const font = `11px ${colour("--font")}`;
    const options: UPlot.Options = {
      width: Math.max(200, element.clientWidth),
      height,
      padding: [EDGE_TOP, EDGE_RIGHT, 0, 0],
      cursor: { show: false },
      legend: { show: false },
      scales: {
        x: { time: false, range: () => [window.from / 1000, window.to / 1000] },
        y: { range: (_, __, top) => [0, top > 0 ? top * 1.08 : 1] },
      },
      axes: [
        {
          stroke: ink,
          font,
          size: AXIS_BELOW,
          gap: 4,
          grid: { show: false },
          ticks: { stroke: grid, width: 1, size: 4 },
          splits: (self) =>
            timeMarks(window.from, window.to, Math.max(2, Math.floor(self.width / 90)), zone).map((at) => at / 1000),
          values: (_, splits) =>
            markTexts(
              splits.map((at) => at * 1000),
              zone,
            ),
        },
        {
          stroke: ink,
          font,
          size: AXIS_LEFT,
          gap: 6,
          space: 22,
          grid: { stroke: grid, width: 1 },
          ticks: { show: false },
          values: (_, splits) =>
            splits.map((value) => (value === 0 ? "0" : lines.length === 0 ? "" : writer.current(value))),
        },
      ],
      series: [
        {},
        ...lines.map((line, at): UPlot.Series => {
          const stroke = single ? colour("--chart") : colour(`--line-${at + 1}`);
          const paths = single ? bars?.({ size: [1, 100], align: 1, gap: 1 }) : stepped?.({ align: 1 });
          return {
            stroke,
            width: single ? 0 : at === lit ? 2.5 : 1.5,
            alpha: lit < 0 || at === lit ? 1 : 0.2,
            // A line of one value has no length: a dot says where it is.
            points: { show: !single && isAlone(line.values), size: 6, fill: stroke },
            spanGaps: !single,
            ...(single && { fill: stroke }),
            ...(paths && { paths }),
          };
        }),
      ],
    };
    const data: UPlot.AlignedData = [times, ...lines.map((line) => [...line.values])];
    const plot = new UPlot(options, data, element);
    const sized = new ResizeObserver(() => {
      if (element.clientWidth > 0) plot.setSize({ width: element.clientWidth, height });
    });
    sized.observe(element);
    return () => {
      sized.disconnect();
      plot.destroy();
    };
  }, [chart, window.from, window.to, zone, height, theme, lit]);

  return <div ref={box} class="line-chart" style={{ height: `${height}px` }} aria-hidden="true" />;
}
