// Pictures of every view and state, to be looked at: `npm run screenshots`, into e2e/out/ or SCREENSHOTS.

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    dir: "e2e",
    include: ["**/*.shots.ts"],
    globalSetup: ["e2e/setup.ts"],
    environment: "node",
    maxWorkers: 1,
    isolate: false,
    testTimeout: 300_000,
    hookTimeout: 60_000,
  },
});
