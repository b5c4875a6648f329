// The worker as a function: ask for a reach, get its run.

import source from "worker-source";

/**
 * A worker that starts when it is first asked.
 *
 * @param {{module: WebAssembly.Module, files: object}} parts what it loads its own arm from.
 * @returns {(reach: number, settings: object, record?: boolean) => Promise<object>} `run`: the reach [m], the
 *   loop's settings, and whether the run's arrays are wanted; rejects with an Error whose message is for the
 *   reader.
 */
export function createRunner({ module, files }) {
  const waiting = new Map();
  let worker = null;
  let last = 0;

  function start() {
    // A script of its own address cannot be a worker's from file://; text can.
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const started = new Worker(address);
    URL.revokeObjectURL(address);
    started.onmessage = ({ data: { id, run, error } }) => {
      const { resolve, reject } = waiting.get(id);
      waiting.delete(id);
      if (error === undefined) resolve(run);
      else reject(new Error(error));
    };
    started.onerror = (event) => {
      event.preventDefault();
      started.onerror = null; // one end is enough
      started.terminate();
      worker = null; // the next run starts another
      const why = event.message || "the browser says no more";
      for (const { reject } of waiting.values()) reject(new Error(`the worker stopped: ${why}`));
      waiting.clear();
    };
    started.postMessage({ module, files });
    worker = started; // only now: one that never got the engine would be silent for ever
  }

  return (reach, settings, record = false) => new Promise((resolve, reject) => {
    if (!worker) start();
    last += 1;
    waiting.set(last, { resolve, reject });
    worker.postMessage({ id: last, reach, settings, record });
  });
}
