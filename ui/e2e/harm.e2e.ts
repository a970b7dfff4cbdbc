// What one bad thing must not do to the rest: a service beyond 64 bits to its neighbours, a pattern to the page, a mistyped
// address to its reader.

import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { CART, closeBrowser, expectAccessible, type Language, settled, visit, words } from "./browser.ts";
import { startServer } from "./server.ts";

const server = inject("server");
afterAll(closeBrowser);

let others: Awaited<ReturnType<typeof startServer>>;
const AT = Date.parse("2026-11-29T03:00:00Z");

beforeAll(async () => {
  others = await startServer();
  const push = async (service: string, time: number, value: string) => {
    const query = new URLSearchParams({
      service,
      format: "folded",
      name: "process_cpu",
      sample_type: "cpu",
      unit: "nanoseconds",
      time: String(time),
    });
    const answer = await fetch(`${others.url}/api/v1/push?${query}`, { method: "POST", body: `main;work ${value}` });
    expect(answer.ok).toBe(true);
  };
  for (const step of [0, 1, 2]) {
    await push("huge", AT + step * 60_000, "9223372036854775807");
    await push("small", AT + step * 60_000, "60000000000");
  }
});
afterAll(() => others.stop());

test.each<Language>(["en", "zh"])(
  "a service beyond 64 bits says so, and its neighbours are there: %s",
  async (language) => {
    const range = "from=2026-11-29T02:30Z&to=2026-11-29T03:30Z";
    const { page, text, leave, forgive } = await visit(others.url, `?${range}`, { language });
    // The hottest function of that service is a sum that does not fit either.
    forgive("400");
    const row = (name: string) => page.locator("tbody tr", { hasText: name });
    await row("huge").getByText(text.services.tooLarge).waitFor();
    await row("small").locator(".hottest").waitFor();
    expect(await row("small").locator(".usage").innerText()).toMatch(/\d/);
    expect(await page.getByRole("alert").count()).toBe(0);
    await expectAccessible(page);
    await page.goto(`${others.url}/explore?q={service_name=~".%2B"}&${range}&g=service_name`);
    await page.locator(".legend li", { hasText: "huge" }).getByText(text.services.tooLarge).waitFor();
    await page.locator(".legend li", { hasText: "small" }).getByText(/\d/).waitFor();
    await leave();
  },
);

test("no pattern holds the page, however often it repeats", async () => {
  const service = "patterns";
  const query = new URLSearchParams({ service, format: "folded", sample_rate: "100", time: String(AT) });
  const stacks = Array.from({ length: 40 }, (_, at) => `main;${"a".repeat(9_000)}${at} 100`).join("\n");
  expect((await fetch(`${others.url}/api/v1/push?${query}`, { method: "POST", body: stacks })).ok).toBe(true);
  const selector = encodeURIComponent(`{service_name="${service}"}`);
  const address = `explore?q=${selector}&from=2026-11-29T02:30Z&to=2026-11-29T03:30Z&view=flame+table`;
  for (const [pattern, found] of [
    ["/\\w*\\w*\\w*!/", false],
    ["/((a+)*)+!/", false],
    ["/(a|aa)+39$/", true],
  ] as const) {
    const { page, text, leave } = await visit(others.url, `${address}&s=${encodeURIComponent(pattern)}`);
    await settled(page);
    const share = await page.locator(".match-share").innerText();
    expect(share !== text.view.noMatch, pattern).toBe(found);
    await leave();
  }
  const { page, text, leave } = await visit(others.url, `${address}&s=${encodeURIComponent("/(a)\\1/")}`);
  await page.getByText(text.view.badPattern).waitFor();
  await leave();
});

test.each<Language>(["en", "zh"])("a mistyped address is answered by the page: %s", async (language) => {
  const { page, leave, forgive } = await visit(server, "nonsense/deeper?x=1", { language });
  forgive("404");
  await page.getByRole("heading", { name: words[language].states.unknownPage }).waitFor();
  await expectAccessible(page);
  await page.getByRole("main").getByRole("link").click();
  await page.getByRole("heading", { name: words[language].services.title }).waitFor();
  const answer = await page.goto(`${server}/nonsense`);
  expect(answer?.status()).toBe(404);
  const slash = await page.goto(`${server}/${CART.replace("?", "/?")}`);
  expect(slash?.status()).toBe(200);
  await settled(page);
  await leave();
});
