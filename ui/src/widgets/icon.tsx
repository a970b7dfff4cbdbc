// The page's few icons, drawn on a grid of 16 with the colour of the text around them. They say nothing by themselves:
// the button around one has the words.

const paths = {
  refresh: "M13 3v4H9M3 13V9h4M12.5 7A5 5 0 0 0 4 5M3.5 9A5 5 0 0 0 12 11",
  play: "M5 3.5v9l7-4.5z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M3.4 12.6l1.1-1.1M11.5 4.5l1.1-1.1",
  help: "M6 6.2a2 2 0 1 1 2.8 1.9c-.6.3-.8.7-.8 1.4M8 12v.1",
  down: "M4 6l4 4 4-4",
  left: "M10 4L6 8l4 4",
  right: "M6 4l4 4-4 4",
  close: "M4 4l8 8M12 4l-8 8",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.5 10.5L14 14",
  plus: "M8 3v10M3 8h10",
  clock: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 4.5V8l2.5 1.5",
  compare: "M5.5 3v10M10.5 3v10M3 5.5L5.5 3 8 5.5M8 10.5l2.5 2.5 2.5-2.5",
  share:
    "M6.5 9.5l3-3M7 5l1.6-1.6a2.5 2.5 0 0 1 3.6 3.6L10.600 8.600M9 11l-1.600 1.600a2.500 2.500 0 0 1-3.600-3.600L5.400 7.400",
  save: "M8 2.500v7M5 7l3 3 3-3M3 12.500h10",
  zoom: "M7 2.500a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9M10.500 10.500L14 14M5 7h4M7 5v4",
  sliders: "M3 5h5M11 5h2M9.500 3.500v3M3 11h2M8 11h5M6.500 9.500v3",
  warn: "M8 2.500l6 11H2zM8 6.500v3.200M8 11.600v.1",
  check: "M3.500 8.500l3 3 6-7",
  up: "M4 10l4-4 4 4",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name]} fill={name === "play" ? "currentColor" : "none"} />
    </svg>
  );
}
