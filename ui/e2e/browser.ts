// A page in a fresh browser profile, watched: nothing may leave the server's origin, no script may fail, and nothing may
// stay silent about it. Also axe, and what keyboards do.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { en } from "../src/i18n/en.ts";
import { zh } from "../src/i18n/zh.ts";

export type Language = "en" | "zh";
export const words = { en, zh } as const;

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

let running: Promise<Browser> | null = null;

/** One browser for all tests of a run; a launch that hangs is tried once more. */
export function browser(): Promise<Browser> {
  const launch = () =>
    chromium.launch({ executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args: FLAGS, timeout: 30_000 });
  running ??= launch().catch(launch);
  return running;
}

export async function closeBrowser(): Promise<void> {
  const open = running;
  running = null;
  await (await open)?.close();
}

export interface Look {
  readonly language?: Language;
  readonly theme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
  readonly zone?: string;
  readonly reducedMotion?: boolean;
  readonly forcedColors?: boolean;
}

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly text: typeof en | typeof zh;
  /** Ends the visit; fails if anything went wrong that no assertion would see. */
  readonly leave: () => Promise<void>;
  /** Faults that a test brings about on purpose, such as a refused request. */
  readonly forgive: (part: string) => void;
}

export async function visit(server: string, path: string, look: Look = {}): Promise<Visit> {
  const language = look.language ?? "en";
  const context = await (await browser()).newContext({
    viewport: { width: look.width ?? 1400, height: look.height ?? 900 },
    colorScheme: look.theme ?? "dark",
    locale: language === "zh" ? "zh-CN" : "en-GB",
    timezoneId: look.zone ?? "UTC",
    reducedMotion: look.reducedMotion ? "reduce" : "no-preference",
    forcedColors: look.forcedColors ? "active" : "none",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  const faults: string[] = [];
  const forgiven: string[] = [];
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${server}/`) && !/^(data|blob|about):/.test(url)) faults.push(`asked ${url}`);
  });
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`script: ${error.message}`));
  await page.goto(`${server}/${path}`);
  return {
    page,
    context,
    text: words[language],
    forgive: (part) => forgiven.push(part),
    leave: async () => {
      await context.close();
      expect(faults.filter((fault) => !forgiven.some((part) => fault.includes(part)))).toEqual([]);
    },
  };
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
  readonly passes: readonly unknown[];
}

/** Runs axe over what is on the screen now; every finding fails. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(axeSource);
  const results = (await page.evaluate(
    `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })`,
  )) as AxeResults;
  const findings = results.violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map((node) => `${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`).join(" | ")}`,
  );
  expect(findings).toEqual([]);
  expect(results.passes.length).toBeGreaterThan(15);
}

/** Presses Tab until the element in focus fits; says where the focus went if it never does. */
export async function tabTo(page: Page, selector: string): Promise<void> {
  const seen: string[] = [];
  for (let press = 0; press < 80; press += 1) {
    await page.keyboard.press("Tab");
    const [there, what] = await page.evaluate((wanted) => {
      const element = document.activeElement;
      return [
        element?.matches(wanted) ?? false,
        element?.getAttribute("aria-label") ?? element?.textContent?.slice(0, 30) ?? "",
      ] as const;
    }, selector);
    if (there) return;
    seen.push(what);
  }
  throw new Error(`Tab never came to ${selector}; it came to: ${seen.join(", ")}`);
}

/** When the flame graph shows the answer to the present question. */
export async function settled(page: Page): Promise<void> {
  await page.waitForSelector(".flame-tree");
  await page.waitForFunction(() => !document.querySelector(".stale, .loading"));
  // Two frames: one paints, the next has it on the screen; then the zoom's 120 ms.
  await page.evaluate(
    () =>
      new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 200)))),
  );
}

export const RANGE = "from=2026-11-29T02:30Z&to=2026-11-29T04:00Z";
export const CART = `explore?q={service_name%3D"cart"}&${RANGE}`;
