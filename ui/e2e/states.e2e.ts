// Every state that a view can be in, on the screen and for axe: first start, empty range, loading and stopped, failed,
// unknown type and page, a missing service; narrow, forced colours, reduced motion.

import { afterAll, describe, expect, inject, test } from "vitest";
import { CART, closeBrowser, expectAccessible, RANGE, settled, visit, words } from "./browser.ts";
import { startServer } from "./server.ts";

const server = inject("server");
const text = words.en;

afterAll(closeBrowser);

test("a server without profiles says how to send one, and shows the first by itself", async () => {
  const empty = await startServer();
  try {
    const { page, leave } = await visit(empty.url, "");
    await page.getByRole("heading", { name: text.states.firstTitle }).waitFor();
    await page.getByText(`everflame push cpu.pprof --service my-service --server ${empty.url}`).waitFor();
    await expectAccessible(page);
    const push = `${empty.url}/api/v1/push?service=first&format=folded&sample_rate=100`;
    expect((await fetch(push, { method: "POST", body: "main;work 300" })).ok).toBe(true);
    await page.getByRole("link", { name: "first" }).waitFor();
    await page.waitForURL(/live=1/);
    await leave();
  } finally {
    await empty.stop();
  }
});

test("an empty range leads to the nearest profile before it", async () => {
  const range = "from=2026-11-29T06:00Z&to=2026-11-29T07:00Z";
  const { page, leave } = await visit(server, `explore?q={service_name%3D"cart"}&${range}`);
  await page.getByRole("heading", { name: text.states.emptyTitle }).waitFor();
  const near = page.getByRole("button", { name: text.states.nearestBefore("2026-11-29 03:59:00", "2.02 h") });
  await near.waitFor();
  await expectAccessible(page);
  await near.click();
  await settled(page);
  expect(page.url()).toContain("from=2026-11-29T03:29Z&to=2026-11-29T04:29Z");
  await leave();
});

test("an empty range leads to the nearest profile after it", async () => {
  const range = "from=2026-11-29T01:00Z&to=2026-11-29T02:00Z";
  const { page, leave } = await visit(server, `explore?q={service_name%3D"cart"}&${range}`);
  await page.getByRole("button", { name: text.states.nearestAfter("2026-11-29 02:30:00", "30.0 min") }).click();
  await settled(page);
  await leave();
});

test("a slow answer can be stopped, and asked for again", async () => {
  const { page, leave } = await visit(server, CART);
  await settled(page);
  const held: (() => void)[] = [];
  await page.route("**/api/v1/flame?**", async (route) => {
    await new Promise<void>((resolve) => held.push(resolve));
    await route.abort().catch(() => undefined);
  });
  await page.getByRole("button", { name: text.header.refresh }).click();
  await page.goto(`${server}/${CART}&lens=2026-11-29T03:10Z/PT5M`);
  await page.getByRole("button", { name: text.states.cancel }).waitFor();
  await expectAccessible(page);
  await page.getByRole("button", { name: text.states.cancel }).click();
  await page.getByText(text.states.cancelled).waitFor();
  await page.unroute("**/api/v1/flame?**");
  for (const go of held) go();
  await page.getByRole("button", { name: text.states.again }).click();
  await settled(page);
  await leave();
});

test("an error is told in the server's words", async () => {
  const { page, forgive, leave } = await visit(server, `explore?q={pod%3D~"("}&${RANGE}`);
  forgive("status of 400");
  const alert = page.getByRole("alert");
  await alert.waitFor();
  expect(await alert.innerText()).toMatch(/q: at byte 6: not a regular expression/);
  expect(await alert.innerText()).toContain(text.states.status("400"));
  await expectAccessible(page);
  await leave();
});

test("a server that went away is told, too", async () => {
  const { page, forgive, leave } = await visit(server, CART);
  await settled(page);
  forgive("ERR_");
  await page.route("**/api/**", (route) => route.abort("connectionrefused"));
  await page.getByRole("button", { name: text.time.last("1 hour") }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: new RegExp(text.time.range) }).click();
  await page.getByRole("button", { name: text.time.last("15 min") }).click();
  await page.getByRole("heading", { name: text.states.unreachable }).waitFor();
  await expectAccessible(page);
  await leave();
});

test("an unknown profile type is answered with those that are there", async () => {
  const { page, leave } = await visit(server, `explore?q={service_name%3D"cart"}&t=heap&${RANGE}`);
  await page.getByRole("heading", { name: text.states.unknownType("heap") }).waitFor();
  await expectAccessible(page);
  await page.getByRole("button", { name: "process_cpu:cpu:nanoseconds:cpu:nanoseconds" }).click();
  await settled(page);
  await leave();
});

test("the help has an address of its own", async () => {
  const { page, leave } = await visit(server, "help");
  await page.getByRole("heading", { name: text.help.title }).waitFor();
  await expectAccessible(page);
  await leave();
});

test("a refused push is explained", async () => {
  const refused = await fetch(`${server}/api/v1/push?service=lost`, { method: "POST", body: "this is no profile" });
  expect(refused.ok).toBe(false);
  const { page, leave } = await visit(server, "");
  await page.getByRole("link", { name: text.services.missing }).click();
  await page.getByRole("rowheader", { name: "lost" }).waitFor();
  await expectAccessible(page);
  await leave();
});

describe("looks", () => {
  for (const view of [`?${RANGE}`, CART, `${CART}&lens=2026-11-29T03:10Z/PT5M&b.lens=-5m&g=pod`]) {
    test(`360 px wide: ${view}`, async () => {
      const { page, leave } = await visit(server, view, { width: 360, height: 760 });
      await page.waitForSelector("table");
      if (view.startsWith("explore")) await settled(page);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide).toBe(360);
      await expectAccessible(page);
      await leave();
    });
  }

  test("forced colours and reduced motion", async () => {
    const { page, leave } = await visit(server, `${CART}&s=decode`, { forcedColors: true, reducedMotion: true });
    await settled(page);
    await expectAccessible(page);
    await page.keyboard.press("?");
    await page.getByRole("heading", { name: text.help.title }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await leave();
  });

  test("every menu and picker that opens is accessible", async () => {
    const { page, leave } = await visit(server, `${CART}&view=flame+table+callers&fn=decode::visit`, {
      theme: "light",
    });
    await settled(page);
    await page.locator(".middle").waitFor();
    await expectAccessible(page);
    for (const name of [/^Service/, /^Profile type/, /^Filter$/, /^Time range/, /^Group by/, /^Theme/, /^Options/]) {
      await page.getByRole("button", { name }).click();
      await page.waitForSelector(".popover:popover-open");
      await expectAccessible(page);
      await page.keyboard.press("Escape");
      await page.waitForSelector(".popover:popover-open", { state: "detached" });
    }
    await leave();
  });
});
