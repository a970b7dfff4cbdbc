// A line without axes, as one path: how a value went. Steps without a value are gaps. Its words are for readers who
// cannot see it.

interface Props {
  /** One value per step; null = none. */
  readonly values: readonly (number | null)[];
  readonly summary: string;
}

const WIDTH = 160;
const HEIGHT = 24;

export function Sparkline({ values, summary }: Props) {
  const top = Math.max(0, ...values.map((value) => value ?? 0));
  const step = values.length > 1 ? WIDTH / (values.length - 1) : WIDTH;
  let line = "";
  let area = "";
  let began = -1;
  let last = -1;
  // A value that stands alone is a short dash, also at the right edge.
  const x = (at: number) => Math.min(at * step, WIDTH - 2).toFixed(1);
  const y = (value: number) => (HEIGHT - 1 - (top > 0 ? value / top : 0) * (HEIGHT - 3)).toFixed(1);
  const close = () => {
    if (began >= 0) area += `V${HEIGHT}H${x(began)}Z`;
    if (began >= 0 && began === last) line += "h2";
    began = -1;
  };
  values.forEach((value, at) => {
    if (value === null) {
      close();
      return;
    }
    if (began < 0) {
      began = at;
      line += `M${x(at)} ${y(value)}`;
      area += `M${x(at)} ${HEIGHT}V${y(value)}`;
    } else {
      line += `L${x(at)} ${y(value)}`;
      area += `L${x(at)} ${y(value)}`;
    }
    last = at;
  });
  close();
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={summary}
    >
      <path class="spark-area" d={area} />
      <path class="spark-line" d={line} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
