// How the page is built and tested. All links are relative, so that the page also works below a path of a proxy.
// `npm run dev` hands requests of the API to a server that runs already: EVERFLAME_URL, else the default port.

import { defineConfig } from "vitest/config";

const server = process.env["EVERFLAME_URL"] ?? "http://127.0.0.1:4040";

const COMMON = [
  "data/(http|api|queue)",
  "i18n/(index|flame)",
  "state/(query|url|time|zone|clock|preferences|format|selector|explore|profile-type)",
  "views/(states|range|open-help|type-menu)",
  "widgets/(copy|icon|link|menu|popover|theme|lazy|announce)",
];

export default defineConfig({
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    // One below the tracked folder: emptying it cannot take the marker away.
    outDir: "dist/app",
    emptyOutDir: true,
    // What the size script reads; a dot folder is not part of the page.
    manifest: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // What every page needs comes as one file: small ones of their own pack badly and are asked for one by one.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [{ name: "common", test: new RegExp(`node_modules/@?preact|src/(${COMMON.join("|")})`) }],
        },
      },
    },
  },
  server: { proxy: { "/api": server, "/readyz": server } },
  // Counts are tested, not clocks: a busy machine may take its time.
  test: { include: ["src/**/*.test.{ts,tsx}", "bench/**/*.test.ts"], environment: "node", testTimeout: 60_000 },
});
