// Where the plot lies inside a chart, in CSS pixels; the brush over it has the same measures in explore.css.

export const AXIS_LEFT = 56;
export const AXIS_BELOW = 24;
export const EDGE_RIGHT = 22;
export const EDGE_TOP = 8;
/** Lines that are drawn; of more only the largest. */
export const LINES_MAX = 8;
