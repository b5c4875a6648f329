// MuJoCo as WebAssembly: the package's own file in Node, the bytes that the page carries in a browser.

import loadMujoco from "@mujoco/mujoco";

/**
 * Start the engine.
 *
 * @param {{binary: Uint8Array} | {module: WebAssembly.Module}} [wasm] the engine's code, as bytes or compiled
 *   already; by default (in Node) the file beside the package.
 * @returns {Promise<object>} MuJoCo's functions and types.
 * @throws {Error} where there is no WebAssembly, or the code cannot be compiled.
 */
export async function loadEngine(wasm) {
  if (typeof WebAssembly === "undefined") {
    throw new Error("This browser has no WebAssembly, so the simulation cannot run.");
  }
  if (!wasm) return loadMujoco();
  const module = wasm.module ?? (await WebAssembly.compile(wasm.binary));
  return new Promise((resolve, reject) => {
    // The package waits for ever if this fails: its promise never settles, ours must.
    const instantiateWasm = (imports, received) => {
      WebAssembly.instantiate(module, imports).then((instance) => received(instance, module)).catch(reject);
      return {};
    };
    loadMujoco({ instantiateWasm }).then(resolve, reject);
  });
}
