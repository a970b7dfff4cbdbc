// Names that could do harm or break a picture: HTML, scripts, 10 kB, right-to-left, emoji, Chinese, control characters. And
// clocks that are set: C094 on the page itself.

import { afterAll, expect, inject, test } from "vitest";
import { CART, closeBrowser, expectAccessible, settled, visit, words } from "./browser.ts";

const server = inject("server");

afterAll(closeBrowser);

const NAMES = [
  `<img src=x onerror="window.harmed=1">`,
  `</script><script>window.harmed=1</script>`,
  "搜索::分词(文本)",
  "שלום::עולם",
  "🔥🔥 hot 👩‍💻",
  `${"long::".repeat(1700)}end`,
  "a\u202eevil",
];

test("such names are shown as text, and harm nothing", async () => {
  const stacks = NAMES.map((name, at) => `main;${name} ${(NAMES.length - at) * 100}`).join("\n");
  const service = "names <b>&amp;";
  const query = new URLSearchParams({
    service,
    format: "folded",
    sample_rate: "100",
    time: String(Date.parse("2026-11-29T03:00:00Z")),
  });
  const pushed = await fetch(`${server}/api/v1/push?${query}`, { method: "POST", body: stacks });
  expect(pushed.ok).toBe(true);
  const selector = encodeURIComponent(`{service_name="${service}"}`);
  const range = "from=2026-11-29T02:30Z&to=2026-11-29T04:00Z";
  const { page, leave } = await visit(server, `explore?q=${selector}&${range}&view=flame+table+callers&fn=main`);
  await settled(page);
  await page.locator(".middle").waitFor();
  const functions = await page.locator(".function-table tbody code").allTextContents();
  for (const name of NAMES.slice(0, 5)) expect(functions).toContain(name);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(1400);
  await page.locator(".flame-tree").focus();
  for (let press = 0; press < NAMES.length; press += 1)
    await page.keyboard.press(press === 0 ? "ArrowDown" : "ArrowRight");
  await expectAccessible(page);
  await page.goto(`${server}/?${range}`);
  await page.getByRole("link", { name: service }).waitFor();
  expect(await page.evaluate(() => "harmed" in window)).toBe(false);
  await leave();
});

test("c094_timezone_and_dst: the repeated hour is told apart, and the link is absolute", async () => {
  const zone = "America/New_York";
  const at = (text: string) => Date.parse(text);
  for (const [time, count] of [
    ["2026-11-01T05:30:00Z", 100],
    ["2026-11-01T06:30:00Z", 300],
  ] as const) {
    const query = new URLSearchParams({
      service: "night",
      format: "folded",
      sample_rate: "100",
      time: String(at(time)),
    });
    expect((await fetch(`${server}/api/v1/push?${query}`, { method: "POST", body: `main;work ${count}` })).ok).toBe(
      true,
    );
  }
  const text = words.en;
  const { page, leave } = await visit(server, `explore?q={service_name%3D"night"}`, { zone });
  await page.getByRole("button", { name: new RegExp(`^${text.time.range}`) }).click();
  const from = page.getByRole("textbox", { name: text.time.from });
  await from.fill("2026-11-01 01:00");
  await page.getByText(text.time.twice("-04:00")).waitFor();
  await from.fill("2026-03-08 02:30");
  await page.getByText(text.time.never("2026-03-08 03:30:00")).waitFor();
  await from.fill("2026-11-01 01:15 -05:00");
  await page.getByRole("textbox", { name: text.time.to }).fill("2026-11-01 02:00");
  await expectAccessible(page);
  await page.getByRole("button", { name: text.time.apply }).click();
  await settled(page);
  expect(page.url()).toContain("from=2026-11-01T06:15Z&to=2026-11-01T07:00Z");
  // Only the second half past one is inside: 300 samples at 100 per second.
  expect(await page.locator(".flame-details").innerText()).toContain("3.00 s");
  await page.getByRole("button", { name: /01:15 -05:00/ }).click();
  await page.getByText(text.time.utc, { exact: true }).click();
  expect(await from.inputValue()).toBe("2026-11-01 06:15:00");
  await leave();
});

test("one click changes zone, language and theme, and all stay for the next page", async () => {
  const { page, context, leave } = await visit(server, CART);
  await settled(page);
  await page.getByRole("button", { name: /^Language/ }).click();
  await page.getByRole("menuitemradio", { name: "中文" }).click();
  await page.getByRole("button", { name: words.zh.out.share }).waitFor();
  await page.getByRole("button", { name: new RegExp(`^${words.zh.header.theme}`) }).click();
  await page.getByRole("menuitemradio", { name: words.zh.header.themes.light }).click();
  await settled(page);
  const next = await context.newPage();
  await next.goto(`${server}/`);
  await next.getByRole("heading", { name: words.zh.services.title }).waitFor();
  expect(
    await next.evaluate(() => [document.documentElement.lang, document.documentElement.dataset["theme"]]),
  ).toEqual(["zh", "light"]);
  await leave();
});
