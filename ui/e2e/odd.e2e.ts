// Links that no page wrote, windows that change their size, a server that goes away at the wrong moment, and names that turn
// or hide the text around them: nothing of it takes the page away.

import { afterAll, expect, inject, test } from "vitest";
import { CART, closeBrowser, RANGE, settled, visit, words } from "./browser.ts";

const server = inject("server");
const text = words.en;

afterAll(closeBrowser);

test("the flame graph is never on the screen without its picture, whatever size the window takes", async () => {
  const { page, leave } = await visit(server, "help", { theme: "light" });
  // A message sent in a frame arrives when that frame has been drawn: what is on the canvas then is what was seen.
  await page.evaluate(() => {
    const seen: string[] = [];
    Object.assign(window, { seen });
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      const canvas = document.querySelector<HTMLCanvasElement>(".flame-canvases canvas");
      const brush = canvas && canvas.width > 1 ? canvas.getContext("2d", { willReadFrequently: true }) : null;
      if (!canvas || !brush) return;
      const pixel = brush.getImageData(canvas.width >> 1, canvas.height - 3, 1, 1).data;
      seen.push(`${canvas.width} ${pixel.join(" ")}`);
    };
    const tick = () => {
      channel.port2.postMessage(null);
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  await page.getByRole("link", { name: text.nav.explore }).click();
  await page.getByRole("button", { name: new RegExp(`^${text.time.range}`) }).click();
  await page.getByRole("textbox", { name: text.time.from }).fill("2026-11-29 02:30");
  await page.getByRole("textbox", { name: text.time.to }).fill("2026-11-29 04:00");
  await page.getByRole("button", { name: text.time.apply }).click();
  await settled(page);
  for (const width of [1200, 1000, 1300]) {
    await page.setViewportSize({ width, height: 800 });
    await page.waitForTimeout(150);
  }
  const seen = await page.evaluate(() => (window as unknown as { seen: string[] }).seen);
  expect(new Set(seen.map((one) => one.split(" ")[0])).size).toBeGreaterThan(3);
  expect(seen.filter((one) => !one.endsWith(" 255 255 255 255"))).toEqual([]);
  await leave();
});

test.each([
  "explore?from=9999999999999999",
  "explore?from=now-999999999w",
  "explore?from=0000000000&to=0000000000",
  `${CART}&b.lens=-999999999w`,
  `${CART}&lens=2026-11-29T03:10Z/PT999999999H`,
  `explore?q=${encodeURIComponent("{{{")}&from=%00&lens=//&b.lens=-0m&view=zzz&fn=%ff&at=zz&s=/(/&tz=Mars/Phobos&live=7`,
  `?${RANGE}&t=nothing&s=%ff&tz=x`,
])("a link that makes no sense opens all the same: %s", async (link) => {
  const { page, forgive, leave } = await visit(server, link);
  // What cannot be read as a selector is for the server to refuse.
  forgive("status of 400");
  await page.getByRole("button", { name: new RegExp(`^${text.time.range}`) }).waitFor();
  await page.locator("main").getByRole("button").first().waitFor();
  await leave();
});

test("a page whose parts cannot be fetched says so, and comes when the server is back", async () => {
  const { page, forgive, leave } = await visit(server, "help");
  await page.getByRole("heading", { name: text.help.title }).waitFor();
  forgive("ERR_");
  await page.route("**/assets/explore-*.js", (route) => route.abort("connectionrefused"));
  await page.getByRole("link", { name: text.nav.explore }).click();
  await page.getByRole("heading", { name: text.states.unreachable }).waitFor();
  await page.unroute("**/assets/explore-*.js");
  await page.getByRole("button", { name: text.states.again }).click();
  await page.getByRole("button", { name: text.out.share }).waitFor();
  await leave();
});

test("a chart that cannot be had leaves the flame graph on the screen", async () => {
  const { page, forgive, leave } = await visit(server, "help");
  forgive("status of 429");
  await page.route("**/api/v1/timeline?**", (route) =>
    route.fulfill({
      status: 429,
      headers: { "retry-after": "7" },
      json: { code: "busy", message: "too much at once" },
    }),
  );
  await page.goto(`${server}/${CART}`);
  await settled(page);
  expect(await page.getByRole("alert").innerText()).toContain("too much at once");
  await page.unroute("**/api/v1/timeline?**");
  await page.getByRole("button", { name: text.states.again }).click();
  await page.getByRole("alert").waitFor({ state: "detached" });
  await leave();
});

test.each([-3_600_000, 86_400_000])(
  "a browser whose clock is off by %i ms looks where the server is",
  async (off) => {
    const query = new URLSearchParams({ service: "just-now", format: "folded", sample_rate: "100" });
    expect((await fetch(`${server}/api/v1/push?${query}`, { method: "POST", body: "main;work 100" })).ok).toBe(true);
    const { page, leave } = await visit(server, "help");
    await page.addInitScript((ms) => {
      const now = Date.now.bind(Date);
      Date.now = () => now() + ms;
    }, off);
    await page.goto(`${server}/explore?q={service_name%3D"just-now"}`);
    await settled(page);
    expect(await page.locator(".flame-details").innerText()).toContain("1.00 s");
    await page.goto(`${server}/?t=cpu`);
    await page.getByRole("link", { name: "just-now" }).waitFor();
    await page.getByRole("row", { name: /just-now.*cores/ }).waitFor();
    await leave();
  },
);

test("the last picture stays, dimmed, when the next one cannot be had", async () => {
  const { page, forgive, leave } = await visit(server, CART);
  forgive("status of 500");
  await settled(page);
  await page.route("**/api/v1/flame?**", (route) => route.fulfill({ status: 500, body: "broken in the middle" }));
  await page.getByRole("button", { name: text.time.last("1 hour") }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: new RegExp(`^${text.time.range}`) }).click();
  await page.getByRole("textbox", { name: text.time.to }).fill("2026-11-29 03:50");
  await page.getByRole("button", { name: text.time.apply }).click();
  await page.getByText("broken in the middle").waitFor();
  await page.locator(".graph.old .flame-tree").waitFor();
  await page.unroute("**/api/v1/flame?**");
  await page.getByRole("button", { name: text.states.again }).click();
  await settled(page);
  await leave();
});

test("what was left out of a large tree comes on a click, and the page says of what its shares are then", async () => {
  for (let part = 0; part < 3; part += 1) {
    const stacks = Array.from(
      { length: 70_000 },
      (_, at) => `big;f${at % 5};leaf${part}-${at} ${at % 5 === 0 ? 1 : 3}`,
    );
    const query = new URLSearchParams({
      service: "large",
      format: "folded",
      sample_rate: "100",
      time: String(Date.parse(`2026-11-29T03:0${part}:00Z`)),
    });
    const pushed = await fetch(`${server}/api/v1/push?${query}`, { method: "POST", body: stacks.join("\n") });
    expect(pushed.ok).toBe(true);
  }
  const link = `explore?q={service_name%3D"large"}&${RANGE}&view=flame`;
  const { page, leave } = await visit(server, link);
  await settled(page);
  const tree = page.locator(".flame-tree");
  await tree.focus();
  // The widest box below the narrowest function, the last of five, is what was left out of it.
  for (const key of ["ArrowDown", "ArrowDown", ...Array.from({ length: 4 }, () => "ArrowRight")])
    await page.keyboard.press(key);
  expect(await page.locator(".flame-details-name").innerText()).toBe("f0");
  await page.keyboard.press("ArrowDown");
  expect(await page.locator(".flame-details-name").innerText()).toContain("too small");
  await page.keyboard.press("Enter");
  await page.getByText(text.view.onlyThrough("f0")).waitFor();
  await settled(page);
  expect(page.url()).toContain("&at=");
  await page.getByRole("button", { name: text.view.everything }).click();
  await page.getByText(text.view.onlyThrough("f0")).waitFor({ state: "detached" });
  await settled(page);
  await leave();
});

const SERVICE = `odd ${"very-long-name.".repeat(20)}\u202egnp`;
const VALUE = `${"x".repeat(600)}\u001b[31m\u202egnp`;

test.each([360, 1400])("long and turning names stay in their places at %i px", async (width) => {
  const query = new URLSearchParams({
    service: SERVICE,
    label: `odd=${VALUE}`,
    format: "folded",
    sample_rate: "100",
    time: String(Date.parse("2026-11-29T03:00:00Z")),
  });
  const body = "main;a\u202eevil 100";
  expect((await fetch(`${server}/api/v1/push?${query}`, { method: "POST", body })).ok).toBe(true);
  const written = (name: string) => JSON.stringify(name).replaceAll("\u202e", "\\u202e");
  const selector = encodeURIComponent(`{service_name=${written(SERVICE)},odd=${written(VALUE)}}`);
  const { page, leave } = await visit(
    server,
    `explore?q=${selector}&${RANGE}&g=odd&view=flame+table+callers&fn=main`,
    {
      width,
    },
  );
  await settled(page);
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth);
  expect(await wide()).toBe(width);
  expect(await page.locator("main").innerText()).toContain("a<U+202E>evil");
  expect(await page.locator("main").innerText()).not.toContain("\u202e");
  await page.goto(`${server}/?${RANGE}`);
  await page.getByRole("link", { name: SERVICE.replace("\u202e", "<U+202E>") }).waitFor();
  expect(await wide()).toBe(width);
  await page.goto(`${server}/status/ingest`);
  await page.getByRole("link", { name: SERVICE.replace("\u202e", "<U+202E>") }).waitFor();
  expect(await wide()).toBe(width);
  await leave();
});
