// Builds the page's one file, or (--tests) its tests for node's own runner.
import { build } from "esbuild";

const tests = process.argv.includes("--tests");
await build({
  entryPoints: [tests ? "test/all.ts" : "src/main.ts"],
  outfile: tests ? "build/tests.mjs" : "../layoutprobe/render/page.js",
  bundle: true,
  charset: "ascii",
  format: tests ? "esm" : "iife",
  legalComments: "none",
  loader: { ".css": "text" },
  minify: !tests,
  platform: tests ? "node" : "browser",
  target: tests ? "node20" : "es2023",
  banner: tests ? {} : { js: "/* Built from page/ by `npm run build`: do not edit. */" },
});
