// End-to-end tests: the built page in a real browser on a real server. One browser, one test at a time, one retry that is
// reported. EVERFLAME_BIN names the server's binary, CHROMIUM the browser, EVERFLAME_UI_DIR a page other than the one
// inside the binary.

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    dir: "e2e",
    include: ["**/*.e2e.ts"],
    globalSetup: ["e2e/setup.ts"],
    environment: "node",
    fileParallelism: false,
    maxWorkers: 1,
    isolate: false,
    testTimeout: 90_000,
    hookTimeout: 60_000,
    retry: 1,
  },
});
