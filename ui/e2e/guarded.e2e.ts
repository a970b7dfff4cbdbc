// A server with a secret, and one that a proxy shows below a path of its own.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { browser, closeBrowser, settled, visit, words } from "./browser.ts";
import { startServer } from "./server.ts";

const text = words.en;
const SECRET = "a-secret-of-at-least-16-letters";

afterAll(closeBrowser);

function push(server: string, headers: Record<string, string> = {}): Promise<Response> {
  const query = "service=kept&format=folded&sample_rate=100";
  return fetch(`${server}/api/v1/push?${query}`, { method: "POST", body: "main;work 300", headers });
}

test("a server with a secret is asked through the browser's own prompt, and a refusal says what to give", async () => {
  const folder = mkdtempSync(join(tmpdir(), "everflame-secret-"));
  const file = join(folder, "secret");
  writeFileSync(file, SECRET);
  const guarded = await startServer(["--token-file", file]);
  try {
    expect((await push(guarded.url)).status).toBe(401);
    expect((await push(guarded.url, { authorization: `Bearer ${SECRET}` })).ok).toBe(true);
    // Without any secret the browser would wait at its prompt, which no test can see.
    const stranger = await (await browser()).newContext({ httpCredentials: { username: "any", password: "wrong" } });
    const page = await stranger.newPage();
    await page.goto(`${guarded.url}/explore`);
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").innerText()).toContain(text.states.secret);
    await stranger.close();
    const context = await (await browser()).newContext({ httpCredentials: { username: "any", password: SECRET } });
    const known = await context.newPage();
    await known.goto(`${guarded.url}/explore?q={service_name%3D"kept"}`);
    await settled(known);
    expect(await known.locator(".flame-details").innerText()).toContain("3.00 s");
    await context.close();
  } finally {
    await guarded.stop();
    rmSync(folder, { recursive: true });
  }
});

/** Hands everything below `/flame/` to a server that knows nothing of that part of the path. */
function proxy(server: string): Promise<{ readonly url: string; readonly stop: () => void }> {
  const outside = createServer((asked, answer) => {
    const path = asked.url ?? "";
    if (!path.startsWith("/flame/")) {
      answer.writeHead(404).end("not mine");
      return;
    }
    const { method, headers } = asked;
    const inner = request(`${server}${path.slice(6)}`, { method: method ?? "GET", headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    });
    inner.on("error", () => answer.destroy());
    asked.pipe(inner);
  });
  return new Promise((resolve) => {
    outside.listen(0, "127.0.0.1", () => {
      const { port } = outside.address() as AddressInfo;
      resolve({
        url: `http://127.0.0.1:${port}`,
        stop: () => {
          outside.closeAllConnections();
          outside.close();
        },
      });
    });
  });
}

test("below a path of a proxy every link, question and copied command stays below it", async () => {
  const inner = await startServer(["--base-path", "/flame"]);
  const outside = await proxy(inner.url);
  try {
    expect((await push(inner.url)).ok).toBe(true);
    const { page, leave } = await visit(outside.url, "flame/");
    await page.getByRole("link", { name: "kept" }).click();
    await settled(page);
    expect(page.url()).toContain(`${outside.url}/flame/explore?q=`);
    await page.reload();
    await settled(page);
    await page.getByRole("button", { name: text.out.share }).click();
    await page.getByRole("menuitem", { name: text.out.cli }).click();
    await page.getByText(text.out.copied(text.out.theCommand)).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(`--server ${outside.url}/flame`);
    await page.getByRole("link", { name: text.nav.services, exact: true }).click();
    await page.getByRole("heading", { name: text.services.title }).waitFor();
    await page.goBack();
    await settled(page);
    await leave();
  } finally {
    outside.stop();
    await inner.stop();
  }
});
