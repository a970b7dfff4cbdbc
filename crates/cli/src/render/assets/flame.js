"use strict";
// The flame graph of one page: lays out, draws what is visible, zooms, searches, and answers to the keyboard.
// Nodes stand in depth-first order, so the subtree of node i is i … end[i]-1 and nothing here recurses.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const isDiff = data.kind === "diff";
  const count = data.parent.length;
  const ROW = 20, FONT = 12, PAD = 5, SMALLEST = 0.4;
  const element = (id) => document.getElementById(id);
  const scroll = element("scroll"), spacer = element("spacer"), canvas = element("canvas");
  const queryField = element("query"), resetButton = element("reset"), found = element("found");
  const details = element("details"), tip = element("tip");
  const context = canvas.getContext("2d");

  // ---- layout ----
  const own = (i) => (isDiff ? Math.abs(data.leftSelf[i]) + Math.abs(data.rightSelf[i]) : Math.abs(data.self[i]));
  const width = new Float64Array(count), left = new Float64Array(count), cursor = new Float64Array(count);
  const depth = new Uint32Array(count), end = new Uint32Array(count);
  for (let i = count - 1; i >= 0; i--) {
    width[i] += own(i);
    end[i] = Math.max(end[i], i + 1);
    const p = data.parent[i];
    if (p < i) { width[p] += width[i]; end[p] = Math.max(end[p], end[i]); }
  }
  let rows = 0;
  for (let i = 0; i < count; i++) {
    const p = data.parent[i];
    if (p < i) { depth[i] = depth[p] + 1; left[i] = cursor[p]; cursor[p] += width[i]; }
    cursor[i] = left[i];
    rows = Math.max(rows, depth[i] + 1);
  }
  const all = isDiff ? 0 : count ? data.total[0] : 0;

  // ---- numbers ----
  const TIME = { nanoseconds: 1, ns: 1, microseconds: 1e3, us: 1e3, milliseconds: 1e6, ms: 1e6, seconds: 1e9, s: 1e9 };
  const scaled = (number, steps) => {
    const size = Math.abs(number);
    let k = steps.findIndex(([factor]) => size >= factor * 0.9995);
    if (k < 0) k = steps.length - 1;
    const shown = number / steps[k][0], big = Math.abs(shown);
    const places = k === steps.length - 1 || big >= 99.95 ? 0 : big >= 9.995 ? 1 : 2;
    return shown.toFixed(places) + " " + steps[k][1];
  };
  const value = (number) => {
    const unit = data.unit;
    if (Object.hasOwn(TIME, unit)) {
      return scaled(number * TIME[unit], [[3.6e12, "h"], [6e10, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]);
    }
    if (unit === "bytes" || unit === "byte" || unit === "B") {
      return scaled(number, [[2 ** 50, "PiB"], [2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [1024, "KiB"], [1, "B"]]);
    }
    const plain = ["", "count", "counts", "samples", "objects", "goroutine", "goroutines"].includes(unit);
    return number.toLocaleString("en") + (plain ? "" : " " + unit);
  };
  const share = (part, whole) => {
    if (!whole || !part) return "0%";
    if (part === whole) return "100%";
    const percent = (part * 100) / whole;
    return Math.abs(percent) < 0.05 ? "<0.1%" : Math.min(percent, 99.9).toFixed(1) + "%";
  };
  const signed = (number) => (number > 0 ? "+" : "") + value(number);
  const nameOf = (i) => data.names[data.name[i]];
  // A comparison says its direction in the text as well, for eyes that cannot tell the colours apart.
  const labelOf = (i) => {
    if (!isDiff || data.leftTotal[i] === data.rightTotal[i]) return nameOf(i);
    return (data.rightTotal[i] > data.leftTotal[i] ? "+ " : "− ") + nameOf(i);
  };
  const describe = (i) => {
    if (isDiff) {
      const a = data.leftTotal[i], b = data.rightTotal[i];
      const change = a === 0 ? (b === 0 ? "" : ", new") : ", " + (b > a ? "+" : "") + (((b - a) * 100) / Math.abs(a)).toFixed(1) + "%";
      return [`${value(a)} → ${value(b)}`, `${signed(b - a)}${change}`, `self ${value(data.leftSelf[i])} → ${value(data.rightSelf[i])}`];
    }
    const lines = [`${value(data.total[i])}, ${share(data.total[i], all)} of all`, `self ${value(data.self[i])} (${share(data.self[i], all)})`];
    if (zoom !== 0) lines.splice(1, 0, `${share(data.total[i], data.total[zoom])} of ${nameOf(zoom)}`);
    const file = data.files[data.name[i]];
    if (file) lines.push(file);
    return lines;
  };
  const colourOf = (i) => {
    if (isDiff) {
      const a = data.leftTotal[i], b = data.rightTotal[i], size = Math.abs(a) + Math.abs(b);
      const change = size ? Math.max(-1, Math.min(1, (b - a) / size)) : 0;
      return data.palette[Math.round(((change + 1) / 2) * (data.palette.length - 1))];
    }
    const colour = data.colours[data.name[i]];
    return colour < 0 || i === 0 ? data.neutral : data.palette[colour];
  };

  // ---- state ----
  let zoom = 0, hover = -1, selected = -1, matches = null, matchList = [], frame = 0;
  let pixels = 0, rowsShown = rows;

  const ancestors = () => {
    const path = [];
    for (let i = zoom; i !== 0 && count; i = data.parent[i]) path.push(data.parent[i]);
    return path;
  };
  const isBelow = (i, top) => i >= top && i < end[top];

  // The root stands for no function, even where a function has its name.
  const isMatch = (i) => matches !== null && i !== 0 && matches[data.name[i]];

  // ---- drawing ----
  const redraw = () => { if (!frame) frame = requestAnimationFrame(draw); };
  const fit = (text, room) => {
    const characters = Math.floor(room / characterWidth);
    if (characters < 2) return "";
    let used = 0, k = 0;
    const points = Array.from(text.length > 2048 ? text.slice(0, 2048) : text);
    for (; k < points.length; k++) {
      const code = points[k].codePointAt(0);
      used += code > 0x10ff && !(code >= 0x2000 && code < 0x2e80) ? 2 : 1;
      if (used > characters) break;
    }
    return k === points.length ? text : points.slice(0, Math.max(1, k - 1)).join("") + "…";
  };
  let characterWidth = 7.2;

  const box = (i, x, y, w, style) => {
    const gap = w > 3 ? 1 : 0;
    context.globalAlpha = style.alpha;
    context.fillStyle = isMatch(i) ? style.match : colourOf(i);
    context.fillRect(x, y, Math.max(w - gap, 0.5), ROW - 1);
    if (i === selected || i === hover) {
      context.globalAlpha = 1;
      context.strokeStyle = style.text;
      context.lineWidth = i === selected ? 2 : 1;
      context.strokeRect(x + 1, y + 1, Math.max(w - gap - 2, 1), ROW - 3);
    }
    const label = w > 22 ? fit(labelOf(i), w - 2 * PAD) : "";
    if (label) {
      context.save();
      context.beginPath();
      context.rect(x, y, w - gap, ROW);
      context.clip();
      context.globalAlpha = Math.max(style.alpha, 0.75);
      context.fillStyle = isMatch(i) ? style.matchText : style.alpha < 1 ? style.dimText : "#18181b";
      context.fillText(label, x + PAD, y + ROW / 2);
      context.restore();
    }
  };

  const draw = () => {
    frame = 0;
    const root = getComputedStyle(document.documentElement);
    const style = { text: root.getPropertyValue("--text").trim(), match: root.getPropertyValue("--match").trim(), matchText: "#fff", alpha: 1 };
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    if (dark) style.matchText = "#18181b";
    style.dimText = dark ? "#f4f4f5" : "#18181b";
    const ratio = devicePixelRatio || 1, w = scroll.clientWidth, h = scroll.clientHeight;
    pixels = w;
    spacer.style.height = Math.max(rowsShown * ROW + 4, 40) + "px";
    canvas.style.width = w + "px";
    canvas.style.height = h + "px";
    const deviceWidth = Math.round(w * ratio), deviceHeight = Math.round(h * ratio);
    if (canvas.width !== deviceWidth || canvas.height !== deviceHeight) { canvas.width = deviceWidth; canvas.height = deviceHeight; }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, w, h);
    context.font = FONT + "px " + root.getPropertyValue("--mono");
    context.textBaseline = "middle";
    characterWidth = context.measureText("mmmmmmmmmm").width / 10;
    if (!count || width[0] === 0) {
      context.fillStyle = style.text;
      context.fillText("no samples", PAD, 20);
      return;
    }
    const top = scroll.scrollTop, first = Math.floor(top / ROW) - 1, last = Math.ceil((top + h) / ROW);
    style.alpha = 0.55;
    for (const i of ancestors()) if (depth[i] >= first && depth[i] <= last) box(i, 0, depth[i] * ROW - top + 2, w, style);
    const scale = w / width[zoom];
    for (let i = zoom; i < end[zoom]; ) {
      const boxWidth = width[i] * scale;
      if (boxWidth < SMALLEST || depth[i] > last) { i = end[i]; continue; }
      if (depth[i] >= first) {
        style.alpha = matches && !isMatch(i) ? 0.5 : 1;
        box(i, (left[i] - left[zoom]) * scale, depth[i] * ROW - top + 2, boxWidth, style);
      }
      i++;
    }
  };

  const nodeAt = (x, y) => {
    if (!count || width[0] === 0) return -1;
    const row = Math.floor((y + scroll.scrollTop - 2) / ROW);
    if (row < 0) return -1;
    if (row < depth[zoom]) return ancestors().find((i) => depth[i] === row) ?? -1;
    const place = left[zoom] + (x / pixels) * width[zoom];
    for (let i = zoom; i < end[zoom]; ) {
      if (place < left[i] || place >= left[i] + width[i]) { i = end[i]; continue; }
      if (depth[i] === row) return i;
      i++;
    }
    return -1;
  };

  // ---- what is said beside the drawing ----
  const HINT = "Point at a frame for its numbers; click to zoom, / to search, ? for keys.";
  const showDetails = (i) => {
    details.textContent = i < 0 ? HINT : [nameOf(i)].concat(describe(i)).join("  ·  ");
  };
  const showTip = (i, x, y) => {
    tip.hidden = i < 0;
    if (i < 0) return;
    tip.replaceChildren(Object.assign(document.createElement("b"), { textContent: nameOf(i) }), "\n" + describe(i).join("\n"));
    const room = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - room.width - 6)) + "px";
    tip.style.top = (y + 18 + room.height > innerHeight ? Math.max(4, y - room.height - 10) : y + 18) + "px";
  };

  // ---- zoom ----
  const zoomTo = (i) => {
    zoom = i;
    let deepest = depth[zoom];
    for (let k = zoom; k < end[zoom]; k++) deepest = Math.max(deepest, depth[k]);
    rowsShown = count ? deepest + 1 : 0;
    resetButton.disabled = zoom === 0;
    tell();
    reveal(zoom);
    redraw();
  };
  const reveal = (i) => {
    if (i < 0) return;
    const y = depth[i] * ROW;
    if (y < scroll.scrollTop || y + ROW * 2 > scroll.scrollTop + scroll.clientHeight) {
      spacer.style.height = Math.max(rowsShown * ROW + 4, 40) + "px";
      scroll.scrollTop = Math.max(0, y - scroll.clientHeight / 3);
    }
  };
  const select = (i) => {
    if (i < 0) return;
    selected = i;
    if (!isBelow(i, zoom) && !ancestors().includes(i)) zoomTo(0);
    showDetails(i);
    reveal(i);
    redraw();
  };

  // ---- search ----
  const matcher = (text) => {
    const slashes = /^\/(.+?)\/?$/.exec(text);
    if (slashes) {
      try {
        const pattern = new RegExp(slashes[1], "i");
        return (name) => pattern.test(name);
      } catch { return null; }
    }
    const wanted = text.toLowerCase();
    return (name) => name.toLowerCase().includes(wanted);
  };
  const search = () => {
    const text = queryField.value.trim(), test = text ? matcher(text) : null;
    matches = test ? data.names.map(test) : null;
    if (matches && data.other !== null) matches[data.other] = false;
    tell();
    redraw();
  };
  // Values of outermost matches only: what is below a match is in its total already.
  const tell = () => {
    matchList = [];
    found.textContent = "";
    const text = queryField.value.trim();
    if (!text) return;
    if (!matches) { found.textContent = "not a regular expression yet: " + text; return; }
    let sum = 0, sumRight = 0, frames = 0;
    for (let i = zoom; i < end[zoom]; i++) if (isMatch(i)) { frames++; matchList.push(i); }
    for (let i = zoom; i < end[zoom]; ) {
      if (!isMatch(i)) { i++; continue; }
      if (isDiff) { sum += data.leftTotal[i]; sumRight += data.rightTotal[i]; } else sum += data.total[i];
      i = end[i];
    }
    const strong = document.createElement("b");
    const place = zoom === 0 ? "all" : nameOf(zoom);
    const inFrames = ` in ${frames.toLocaleString("en")} frame${frames === 1 ? "" : "s"}`;
    if (isDiff) {
      strong.textContent = `${value(sum)} → ${value(sumRight)}`;
      found.append(strong, ` (${signed(sumRight - sum)})` + inFrames);
    } else {
      strong.textContent = share(sum, data.total[zoom]) + " matched";
      found.append(strong, `: ${value(sum)} of ${place}` + inFrames);
    }
  };
  const step = (direction) => {
    if (!matchList.length) return;
    const at = direction > 0 ? matchList.find((i) => i > selected) : matchList.findLast((i) => i < selected);
    select(at ?? (direction > 0 ? matchList[0] : matchList[matchList.length - 1]));
  };

  // ---- keyboard ----
  const widestChild = (i) => {
    let best = -1;
    for (let k = i + 1; k < end[i]; k = end[k]) if (best < 0 || width[k] > width[best]) best = k;
    return best;
  };
  const neighbour = (i, direction) => {
    const parent = data.parent[i];
    let before = -1;
    for (let k = parent + 1; i !== 0 && k < end[parent]; k = end[k]) {
      if (direction < 0 && k === i) return before;
      if (direction > 0 && k > i && width[k] > 0) return k;
      if (width[k] > 0) before = k;
    }
    return -1;
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target === queryField;
    if (event.key === "Escape") {
      if (typing && queryField.value) { queryField.value = ""; search(); } else if (typing) scroll.focus(); else zoomTo(0);
    } else if (typing) {
      if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
      return;
    } else if (event.target instanceof HTMLButtonElement && (event.key === "Enter" || event.key === " ")) return;
    else if (event.key === "/") queryField.focus();
    else if (event.key === "?") element("help").click();
    else if (event.key === "n") step(1);
    else if (event.key === "N") step(-1);
    else if (event.key === "Backspace") zoomTo(count ? data.parent[zoom] : 0);
    else if (event.key === "Enter" && selected >= 0) zoomTo(selected);
    else if (event.key.startsWith("Arrow") && count) {
      if (selected < 0) select(zoom);
      else if (event.key === "ArrowUp") select(data.parent[selected]);
      else if (event.key === "ArrowDown") select(widestChild(selected));
      else select(neighbour(selected, event.key === "ArrowLeft" ? -1 : 1));
    } else return;
    event.preventDefault();
  });

  // ---- mouse ----
  canvas.addEventListener("mousemove", (event) => {
    const edge = canvas.getBoundingClientRect();
    const i = nodeAt(event.clientX - edge.left, event.clientY - edge.top);
    if (i !== hover) { hover = i; showDetails(i < 0 ? selected : i); redraw(); }
    canvas.style.cursor = i < 0 ? "default" : "pointer";
    showTip(i, event.clientX, event.clientY);
  });
  canvas.addEventListener("mouseleave", () => { hover = -1; showTip(-1); showDetails(selected); redraw(); });
  canvas.addEventListener("click", (event) => {
    const edge = canvas.getBoundingClientRect();
    const i = nodeAt(event.clientX - edge.left, event.clientY - edge.top);
    if (i < 0) return;
    selected = i;
    zoomTo(i);
    showDetails(i);
  });
  resetButton.addEventListener("click", () => zoomTo(0));
  element("help").addEventListener("click", (event) => {
    const keys = element("keys");
    keys.hidden = !keys.hidden;
    event.currentTarget.setAttribute("aria-expanded", String(!keys.hidden));
    redraw();
  });
  queryField.addEventListener("input", search);
  scroll.addEventListener("scroll", () => { showTip(-1); redraw(); });
  new ResizeObserver(redraw).observe(scroll);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  if (isDiff) {
    const legend = element("legend");
    legend.hidden = false;
    const last = data.palette.length - 1;
    for (const [word, k] of [["less", 0], ["same", last / 2], ["more", last]]) {
      const swatch = document.createElement("i");
      swatch.style.background = data.palette[k];
      const item = document.createElement("span");
      item.append(swatch, word);
      legend.append(item);
    }
  }
  showDetails(-1);
  redraw();
})();
