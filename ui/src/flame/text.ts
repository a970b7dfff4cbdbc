// Every word that the flame graph shows, in both languages. Names of functions, labels and units are never translated;
// how numbers are written is passed in, so that graph, table and details line agree.

/** How numbers are written, from the page's own formatting. */
export interface FlameNumbers {
  /** A value with its unit, such as `9.8 cores` or `31.4 MiB`. */
  readonly value: (value: bigint) => string;
  /** A share of 1, such as `31.0 %`. */
  readonly share: (share: number) => string;
  /** A count with its groups, such as `1,204`. */
  readonly count: (count: number) => string;
}

export interface FlameText {
  readonly numbers: FlameNumbers;
  /** The root's name. */
  readonly total: string;
  readonly noName: string;
  /** Name of the whole picture for a screen reader. */
  readonly graph: string;
  readonly keysHint: string;
  readonly rest: (count: number) => string;
  readonly merged: (count: number) => string;
  /** The same where nothing can be clicked. */
  readonly mergedBoxes: (count: number) => string;
  readonly self: (value: string, share: string) => string;
  readonly totalOf: (value: string, share: string) => string;
  readonly ofParent: (share: string) => string;
  readonly ofFocus: (share: string) => string;
  readonly sides: (left: string, leftShare: string, right: string, rightShare: string) => string;
  /** A word of a change that is about shares, not values. */
  readonly byShare: (change: string) => string;
  readonly change: Readonly<{
    same: string;
    new: string;
    gone: string;
    /** Now in units of before, such as `1.8` or `0.45`. */
    more: (times: string) => string;
    less: (times: string) => string;
  }>;
  readonly legend: Readonly<{ less: string; same: string; more: string; gone: string }>;
  readonly crumbs: string;
  readonly back: string;
  readonly nothing: string;
  readonly level: (depth: number) => string;
  readonly matched: (share: string, count: string) => string;
  readonly actions: Readonly<{
    title: string;
    focus: string;
    out: string;
    reset: string;
    copyName: string;
    copyStack: string;
    copyLink: string;
    showCallers: string;
    searchName: string;
    fetchRest: string;
  }>;
}

export const flameEn = (numbers: FlameNumbers): FlameText => ({
  numbers,
  total: "total",
  noName: "(no name)",
  graph: "Flame graph",
  keysHint: "Arrows move, Enter focuses, Escape goes out, Shift+F10 opens actions, ? lists all keys",
  rest: (count) => `other: ${numbers.count(count)} ${count === 1 ? "call" : "calls"} too small to send`,
  mergedBoxes: (count) => `${numbers.count(count)} narrow ${count === 1 ? "box" : "boxes"}`,
  merged: (count) => `${numbers.count(count)} narrow ${count === 1 ? "box" : "boxes"}: click to zoom in`,
  self: (value, share) => `self ${value} (${share})`,
  totalOf: (value, share) => `total ${value} (${share} of all)`,
  ofParent: (share) => `${share} of caller`,
  ofFocus: (share) => `${share} of focus`,
  sides: (left, leftShare, right, rightShare) => `before ${left} (${leftShare}) → selected ${right} (${rightShare})`,
  byShare: (change) => `${change} by share`,
  change: {
    same: "same",
    new: "new",
    gone: "gone",
    more: (times) => `×${times}`,
    less: (times) => `×${times}`,
  },
  legend: { less: "less than before", same: "same", more: "more than before", gone: "gone" },
  crumbs: "Path of the focus",
  back: "Back",
  nothing: "Nothing to draw: no value in this selection",
  level: (depth) => `level ${numbers.count(depth)}`,
  matched: (share, count) => `${share} matched, ${count} boxes`,
  actions: {
    title: "Actions",
    focus: "Focus",
    out: "Back out",
    reset: "Show everything",
    copyName: "Copy name",
    copyStack: "Copy stack",
    copyLink: "Copy link to this box",
    showCallers: "Callers and callees",
    searchName: "Search for this name",
    fetchRest: "Fetch what was left out",
  },
});

export const flameZh = (numbers: FlameNumbers): FlameText => ({
  numbers,
  total: "全部",
  noName: "（无名称）",
  graph: "火焰图",
  keysHint: "方向键移动，Enter 聚焦，Esc 返回，Shift+F10 打开操作，? 查看全部按键",
  rest: (count) => `其他：${numbers.count(count)} 个过小而未传送的调用`,
  mergedBoxes: (count) => `${numbers.count(count)} 个窄框`,
  merged: (count) => `${numbers.count(count)} 个窄框：点击放大`,
  self: (value, share) => `自身 ${value}（${share}）`,
  totalOf: (value, share) => `累计 ${value}（占全部 ${share}）`,
  ofParent: (share) => `占调用方 ${share}`,
  ofFocus: (share) => `占聚焦 ${share}`,
  sides: (left, leftShare, right, rightShare) => `之前 ${left}（${leftShare}）→ 所选 ${right}（${rightShare}）`,
  byShare: (change) => `按占比 ${change}`,
  change: {
    same: "不变",
    new: "新增",
    gone: "消失",
    more: (times) => `${times} 倍`,
    less: (times) => `${times} 倍`,
  },
  legend: { less: "比之前少", same: "不变", more: "比之前多", gone: "消失" },
  crumbs: "聚焦路径",
  back: "返回",
  nothing: "没有可绘制的内容：所选范围内没有数值",
  level: (depth) => `第 ${numbers.count(depth)} 层`,
  matched: (share, count) => `匹配 ${share}，${count} 个框`,
  actions: {
    title: "操作",
    focus: "聚焦",
    out: "返回上一级",
    reset: "显示全部",
    copyName: "复制名称",
    copyStack: "复制调用栈",
    copyLink: "复制此框的链接",
    showCallers: "调用方与被调方",
    searchName: "搜索此名称",
    fetchRest: "获取未传送的部分",
  },
});
