// Bundles the page into build/.
import { cp, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "build");

// The code editor is most of the bundle, and nothing here edits code.
const withoutEditor = {
  name: "without-editor",
  setup(it) {
    it.onResolve({ filter: /^(monaco-editor|@monaco-editor\/react)/ }, ({ path }) => ({ path, namespace: "none" }));
    it.onLoad({ filter: /.*/, namespace: "none" }, () => ({ contents: "module.exports = {};", loader: "js" }));
  },
};

// The CommonJS builds: in the others some default imports of CommonJS packages come out as objects.
const grafana = ["data", "e2e-selectors", "schema", "ui"];
const alias = Object.fromEntries(
  grafana.map((name) => [`@grafana/${name}`, join(here, `node_modules/@grafana/${name}/dist/cjs/index.cjs`)])
);

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
await build({
  entryPoints: [join(here, "src/main.jsx")],
  outdir: out,
  bundle: true,
  format: "esm",
  splitting: true,
  jsx: "automatic",
  define: { "process.env.NODE_ENV": '"production"', global: "globalThis" },
  loader: { ".woff2": "file", ".svg": "file" },
  alias,
  plugins: [withoutEditor],
  logLevel: "error",
});
await cp(join(here, "src/index.html"), join(out, "index.html"));
await cp(join(here, "node_modules/@grafana/ui/dist/public"), join(out, "public"), { recursive: true });
