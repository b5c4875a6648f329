/**
 * Bundle the live pages: `node build.mjs OUT [PAGE ...]` writes every page, or the named ones, into the folder OUT.
 *
 * What it writes are classic scripts. A browser refuses a module, a fetch and a worker's script from file://, so
 * MuJoCo's WebAssembly and the committed map are scripts that leave text in a global, and the worker travels inside
 * the page's script as text.
 */

import { access, copyFile, mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { argv, exit, stderr, stdout } from "node:process";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const mujoco = join(here, "node_modules", "@mujoco", "mujoco");
const pages = ["panda", "planar"];

const settings = {
  bundle: true,
  minify: true,
  charset: "utf8",
  target: "es2022",
  format: "iife",
  loader: { ".xml": "text" },
  legalComments: "eof",
  // MuJoCo's loader asks where its module lies: in a classic script, and in a worker made from text, here.
  define: { "import.meta.url": "self.location.href" },
  external: ["module"], // wanted in Node only
  absWorkingDir: here,
  logLevel: "warning",
};

/** `import source from "worker-source"` is the text of worker.mjs, bundled. */
const workerAsText = {
  name: "worker-source",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^worker-source$/ }, () => ({ path: "worker.mjs", namespace: "worker-source" }));
    onLoad({ filter: /.*/, namespace: "worker-source" }, async () => {
      const { outputFiles } = await build({ ...settings, entryPoints: ["worker.mjs"], write: false });
      return { contents: outputFiles[0].text, loader: "text" };
    });
  },
};

const bundle = (source, outfile) =>
  build({ ...settings, entryPoints: [source], outfile, plugins: [workerAsText] });

/** A script that leaves bytes in a global, as base64. */
const bytesAsScript = (name, bytes, notice = "") =>
  `${notice}globalThis.${name}="${Buffer.from(bytes).toString("base64")}";\n`;

async function engineScript() {
  const { version } = JSON.parse(await readFile(join(mujoco, "package.json"), "utf8"));
  const wasm = await readFile(join(mujoco, "mujoco.wasm"));
  const notice = `/*! MuJoCo ${version}, Copyright DeepMind Technologies Limited, Apache-2.0: LICENSES.txt */\n`;
  return bytesAsScript("OUT_OF_RANK_ENGINE", gzipSync(wasm, { level: 9 }), notice);
}

async function main(out, asked) {
  const unknown = asked.filter((page) => !pages.includes(page));
  if (!out || unknown.length) {
    stderr.write(`node build.mjs OUT [PAGE ...]; the pages are ${pages.join(", ")}\n`);
    exit(2);
  }
  await access(mujoco).catch(() => {
    stderr.write(`no packages in ${here}: run npm ci there first\n`);
    exit(1);
  });
  await mkdir(out, { recursive: true });

  await writeFile(join(out, "engine.js"), await engineScript());
  const map = await readFile(join(root, "results", "collapse_map.bin"));
  await writeFile(join(out, "map.js"), bytesAsScript("OUT_OF_RANK_MAP", map));
  for (const style of ["live.css", "replay.css"]) await copyFile(join(here, style), join(out, style));
  await bundle("embed.js", join(out, "embed.js"));
  for (const page of asked.length ? asked : pages) {
    await copyFile(join(here, `${page}.html`), join(out, `${page}.html`));
    await bundle(`${page}.mjs`, join(out, `${page}.js`));
  }

  for (const name of (await readdir(out)).sort()) {
    const { size } = await stat(join(out, name));
    stdout.write(`   ${name.padEnd(12)} ${(size / 1000).toFixed(0).padStart(6)} kB\n`);
  }
}

try {
  await main(argv[2], argv.slice(3));
} catch (error) {
  if (!error.errors) throw error; // esbuild has said what it met, and where
  exit(1);
}
