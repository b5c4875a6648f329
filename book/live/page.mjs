// What every live page does beside its subject: it unpacks the engine, and speaks with the book around it.

/**
 * The engine's code, which `engine.js` has left packed in a global.
 *
 * @returns {Promise<WebAssembly.Module>} compiled once; a worker takes it as it is.
 * @throws {Error} an old browser, or no engine beside the page; the message is for the reader.
 */
export async function unpackEngine() {
  if (typeof WebAssembly === "undefined") {
    throw new Error("This browser has no WebAssembly, so the simulation cannot run.");
  }
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser is too old to unpack the simulation (it has no DecompressionStream).");
  }
  const text = globalThis.OUT_OF_RANK_ENGINE;
  if (!text) throw new Error("The file engine.js is missing beside this page.");
  const letters = atob(text);
  const packed = new Uint8Array(letters.length);
  // Uint8Array.from with a function would take half a second here.
  for (let i = 0; i < packed.length; i++) packed[i] = letters.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/** @returns {"light" | "dark"} the page's theme. */
export const theme = () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");

/**
 * Take the theme that the book's page sends, else the system's, and tell it how tall this page is.
 *
 * @param {() => void} [themeChanged]
 */
export function speakWithTheBook(themeChanged = () => {}) {
  const framed = parent !== globalThis;
  const system = matchMedia("(prefers-color-scheme: dark)");
  let sent = false;
  const setTheme = (name) => {
    document.documentElement.dataset.theme = name;
    themeChanged();
  };
  system.addEventListener("change", () => sent || setTheme(system.matches ? "dark" : "light"));
  addEventListener("message", ({ source, data }) => {
    if (!framed || source !== parent || data?.type !== "theme") return;
    if (!["light", "dark"].includes(data.theme)) return;
    sent = true;
    setTheme(data.theme);
  });
  const height = () => Math.ceil(document.body.offsetHeight);
  const tell = () => parent.postMessage({ type: "height", height: height() }, "*");
  if (framed) new ResizeObserver(tell).observe(document.body);
}
