// Starts the real binary on a free port over an empty folder, and stops it.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Server {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

const READY_MS = 30_000;

export function binary(): string {
  const path = process.env["EVERFLAME_BIN"];
  if (!path) throw new Error("EVERFLAME_BIN does not name the server's binary");
  return path;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        address && typeof address === "object" ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
}

async function untilReady(url: string, child: ChildProcess): Promise<void> {
  const end = Date.now() + READY_MS;
  while (Date.now() < end) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    const answer = await fetch(`${url}/readyz`).catch(() => null);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the server is not ready");
}

export async function startServer(more: readonly string[] = []): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), "everflame-e2e-"));
  const url = `http://127.0.0.1:${await freePort()}`;
  const page = process.env["EVERFLAME_UI_DIR"];
  const options = ["server", "--data-dir", folder, "--listen", url.slice(7), "--log-level", "warn", ...more];
  const child = spawn(binary(), page ? [...options, "--ui-dir", page] : options, {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const stop = async () => {
    if (child.exitCode === null) {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(url, child);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, stop };
}
