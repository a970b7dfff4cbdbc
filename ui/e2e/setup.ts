// Before all tests: a server with the recorded afternoon in it. Its address is handed to the tests.

import type { TestProject } from "vitest/node";
import { startServer } from "./server.ts";
import { pushStory } from "./story.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly server: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startServer();
  try {
    await pushStory(server.url, new URL("../..", import.meta.url).pathname.replace(/\/$/, ""));
  } catch (error) {
    await server.stop();
    throw error;
  }
  project.provide("server", server.url);
  return server.stop;
}
