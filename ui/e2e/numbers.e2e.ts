// Flame graph, table and callers in the page agree with the command line to the last digit: on every recorded profile,
// and on five profiles of other projects, where ../shared is there.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { closeBrowser, settled, visit } from "./browser.ts";
import { binary, startServer } from "./server.ts";

const server = inject("server");

afterAll(closeBrowser);

interface Row {
  readonly name: string;
  readonly self: number;
  readonly total: number;
}

interface Side {
  readonly name: string;
  readonly value: number;
}

function ask<T>(url: string, command: string[], type: string, selector: string): T {
  const options = ["--type", type, "--server", url, "--json"];
  return JSON.parse(
    execFileSync(binary(), [...command, selector, ...options], { encoding: "utf8", maxBuffer: 1 << 28 }),
  ) as T;
}

/** Digits of an exact number as it stands in a title: `7,900,000,000 ns`. */
const digits = (title: string | null) => Number((title ?? "").replace(/[^\d-]/g, ""));
const RECORDED = "from=2026-11-29T00:00Z&to=2026-11-30T00:00Z";

/** Asks page and command line for the same functions. */
async function agree(url: string, service: string, type: string, range: string): Promise<void> {
  const selector = `{service_name="${service}"}`;
  const top = ask<{ rows: Row[] }>(url, ["top", "--limit", "0"], type, selector);
  const address = `explore?q=${encodeURIComponent(selector)}&t=${type}&${range}`;
  const { page, leave } = await visit(url, `${address}&view=table`, { width: 2560, height: 1440 });
  await page.locator(".function-table tbody tr[data-row]").first().waitFor();
  const rows = await page.locator(".function-table tbody tr[data-row]").evaluateAll((all) =>
    all.map((row) => ({
      name: row.querySelector("code")?.textContent ?? "",
      exact: [...row.querySelectorAll("td span[title]")].map((cell) => cell.getAttribute("title")),
    })),
  );
  const shown = rows.map(({ name, exact }) => ({
    name,
    self: digits(exact[0] ?? null),
    total: digits(exact[1] ?? null),
  }));
  const told = top.rows.slice(0, shown.length).map(({ name, self, total }) => ({ name, self, total }));
  expect(shown.length).toBeGreaterThan(3);
  expect(shown).toEqual(told);
  const foot = await page.locator(".panel-foot").innerText();
  expect(Number(foot.replace(/\D/g, ""))).toBe(top.rows.length);
  await leave();

  const fn = told[0]?.name ?? "";
  const around = ask<{ function: Row; callers: Side[]; callees: Side[] }>(url, ["callers", fn], type, selector);
  const second = await visit(url, `${address}&view=flame+callers&fn=${encodeURIComponent(fn)}`);
  await settled(second.page);
  await second.page.locator(".middle").waitFor();
  const values = (nth: number) =>
    second.page
      .locator(".callers ul")
      .nth(nth)
      .locator("li")
      .evaluateAll((all) => all.map((item) => item.querySelector(".number[title]")?.getAttribute("title") ?? null));
  const middle = await second.page
    .locator(".middle b[title]")
    .evaluateAll((all) => all.map((one) => one.getAttribute("title")));
  expect(middle.map(digits)).toEqual([around.function.total, around.function.self]);
  expect((await values(0)).map(digits)).toEqual(around.callers.slice(0, 40).map((one) => one.value));
  expect((await values(1)).map(digits)).toEqual(around.callees.slice(0, 40).map((one) => one.value));
  await second.leave();
}

describe.each([
  ["go-hot", "cpu"],
  ["go-hot", "inuse_space"],
  ["go-hot", "alloc_objects"],
  ["go-compiler", "cpu"],
  ["rust-hot", "cpu"],
  ["node-hot", "wall"],
  ["cart", "cpu"],
  ["search", "cpu"],
])("%s %s", (service, type) => {
  test("functions, callers and callees", () => agree(server, service, type, RECORDED));
});

const CORPUS = new URL("../../../shared/corpus/pprof", import.meta.url).pathname;
const FILES = [
  "google/large.cpu",
  "parca/1644509299337903000.pb.gz",
  "profefe/collector_heap_2.prof",
  "pyroscope/dotnet.labels.pprof",
  "pyroscope/cpu_go_truncated_1.pb.gz",
];
const serviceOf = (file: string) => `corpus.${file.replace("/", ".")}`;

describe.skipIf(!existsSync(CORPUS))("profiles of other projects (skipped without ../shared)", () => {
  interface Service {
    readonly name: string;
    readonly types: readonly string[];
    readonly last: string;
  }
  const services = new Map<string, Service>();
  // A server of their own: one of them names no time, so that it would stand in every view that ends now.
  let others: Awaited<ReturnType<typeof startServer>>;

  beforeAll(async () => {
    others = await startServer();
    for (const file of FILES) {
      execFileSync(binary(), ["push", `${CORPUS}/${file}`, "--service", serviceOf(file), "--server", others.url]);
    }
    const answer = await fetch(`${others.url}/api/v1/services?from=1971-01-01T00:00:00Z&to=2100-01-01T00:00:00Z`);
    const { services: all } = (await answer.json()) as { services: Service[] };
    for (const service of all) services.set(service.name, service);
  });

  afterAll(() => others.stop());

  test.each(FILES)("%s", async (file) => {
    const service = services.get(serviceOf(file));
    expect(service).toBeDefined();
    const last = Date.parse(service?.last ?? "");
    const [from, to] = [last - 3_600_000, last + 3_600_000].map((time) => new Date(time).toISOString());
    await agree(others.url, serviceOf(file), service?.types[0] ?? "", `from=${from}&to=${to}`);
  });
});
