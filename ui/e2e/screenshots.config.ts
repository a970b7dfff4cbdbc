// Pictures of every view and state, to be looked at: `npm run screenshots`, into e2e/out/ or SCREENSHOTS.

import { mergeConfig } from "vitest/config";
import base from "./vitest.config.ts";

export default mergeConfig(base, { test: { retry: 0, testTimeout: 300_000 } }, true);
