// The script inside an exported page: draws the tree that stands beside it as boxes, zooms on a click or Enter, goes back
// on Escape, and marks what is searched. Plain, small, and on its own: no network, no libraries, names only as text.

/* global document, window */
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { names, depth, name, total, self, words, left, width: size } = data;
  const count = depth.length;
  const parent = new Array(count).fill(0);
  const end = new Array(count).fill(count);
  const open = [];
  for (let node = 0; node < count; node += 1) {
    while (open.length > 0 && depth[open[open.length - 1]] >= depth[node]) end[open.pop()] = node;
    parent[node] = open.length > 0 ? open[open.length - 1] : 0;
    open.push(node);
  }
  const picture = document.getElementById("picture");
  const line = document.getElementById("line");
  const found = document.getElementById("found");
  const ROW = 20;
  let focus = 0;
  let query = "";
  const share = (value) => `${((100 * value) / (total[0] || 1)).toFixed(1)} %`;
  const label = (node) => (node === 0 ? words.total : names[name[node]]);
  const describe = (node) => {
    const note = data.note[node];
    line.textContent = `${label(node)}${note ? ` · ${note}` : ""} · ${words.total} ${data.shown[node]} (${share(total[node])}) · ${words.self} ${share(self[node])}`;
  };
  const matches = (node) => query !== "" && node !== 0 && names[name[node]].toLowerCase().includes(query);

  function box(node, x, width) {
    const item = document.createElement("button");
    item.type = "button";
    item.className = matches(node) ? "box match" : "box";
    const [light, dark] = data.colours[data.fill[node]] ?? [];
    item.style.cssText = `left:${x}px;width:${Math.max(1, width - 1)}px;top:${depth[node] * ROW}px;--l:${light};--d:${dark}`;
    item.textContent = width > 30 ? [data.note[node], label(node)].filter(Boolean).join("  ") : "";
    item.setAttribute("aria-label", `${label(node)} ${share(total[node])}`);
    item.onclick = () => zoom(node);
    item.onmouseenter = () => describe(node);
    item.onfocus = () => describe(node);
    return item;
  }

  function draw() {
    const whole = picture.clientWidth;
    const boxes = [];
    let deepest = 0;
    const place = (node, x, width) => {
      boxes.push(box(node, x, width));
      deepest = Math.max(deepest, depth[node]);
    };
    const path = [];
    for (let node = focus; node !== 0; node = parent[node]) path.unshift(parent[node]);
    for (const node of path) place(node, 0, whole);
    const stack = [[focus, 0, whole]];
    while (stack.length > 0) {
      const [node, x, width] = stack.pop();
      place(node, x, width);
      const scale = width / (size[node] || 1);
      for (let child = node + 1; child < end[node]; child = end[child]) {
        const wide = size[child] * scale;
        if (wide >= 1) stack.push([child, x + (left[child] - left[node]) * scale, wide]);
      }
    }
    picture.replaceChildren(...boxes);
    picture.style.height = `${(deepest + 1) * ROW}px`;
  }

  function zoom(node) {
    focus = node;
    draw();
    describe(node);
  }

  function search(text) {
    query = text.trim().toLowerCase();
    let sum = 0;
    for (let node = 1; node < count; ) {
      if (matches(node)) {
        sum += total[node];
        node = end[node];
      } else node += 1;
    }
    found.textContent = query === "" ? "" : share(sum);
    draw();
  }

  document.getElementById("search").oninput = (event) => search(event.target.value);
  document.onkeydown = (event) => {
    if (event.key === "Escape") zoom(parent[focus]);
  };
  window.onresize = draw;
  draw();
  describe(0);
})();
