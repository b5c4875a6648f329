// The committed collapse map: its grid of doubles and where every run ended, read from
// results/collapse_map.bin.
//
// The file is little-endian: "OORM"; uint32 G, R, D; float64 gains [1/s], reaches [m], dampings; then
// planes over (G, R, D) in C order: uint8 flags (state + 4 * sensitive), uint16 final error [0.1 mm],
// uint16 drift [0.1 mrad].

/** What the two low bits of a flag mean, in the words of the studies. */
export const STATES = ["healthy", "collapse", "undecided"];

/** Below this damping neighbours in the map end as tosses of a coin would. */
export const COIN_TOSS_BELOW = 1e-3;

const SENSITIVE = 4;

/**
 * Read the map.
 *
 * @param {Uint8Array} bytes the whole file.
 * @returns {{gains: Float64Array, reaches: Float64Array, dampings: Float64Array,
 *   pixel: (g: number, r: number, d: number) =>
 *     {state: string, sensitive: boolean, finalError: number, drift: number}}}
 *   the axes, and a run by its place on them: final error [m], drift [rad].
 * @throws {Error} the bytes are no map, or not a whole one.
 */
export function decodeMap(bytes) {
  if (bytes.length < 16 || String.fromCharCode(...bytes.subarray(0, 4)) !== "OORM") {
    throw new Error("these bytes are no collapse map: it begins with OORM");
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [G, R, D] = [4, 8, 12].map((offset) => view.getUint32(offset, true));
  const runs = G * R * D;
  const whole = 16 + 8 * (G + R + D) + 5 * runs;
  if (bytes.length !== whole) {
    throw new Error(`a map of ${G} x ${R} x ${D} runs has ${whole} bytes; got ${bytes.length}`);
  }

  let offset = 16;
  const read = (count, size, method) => {
    const values = Array.from({ length: count }, (_, k) => view[method](offset + size * k, true));
    offset += size * count;
    return values;
  };
  const axis = (count) => Float64Array.from(read(count, 8, "getFloat64"));
  const [gains, reaches, dampings] = [G, R, D].map(axis);
  const flags = Uint8Array.from(read(runs, 1, "getUint8"));
  const [finalErrors, drifts] = [runs, runs].map((count) => Uint16Array.from(read(count, 2, "getUint16")));
  if (flags.some((flag) => (flag & 3) >= STATES.length)) {
    throw new Error("the map holds a state that has no name");
  }

  const pixel = (g, r, d) => {
    const k = (g * R + r) * D + d;
    return {
      state: STATES[flags[k] & 3],
      sensitive: (flags[k] & SENSITIVE) !== 0,
      finalError: finalErrors[k] / 1e4,
      drift: drifts[k] / 1e4,
    };
  };
  return { gains, reaches, dampings, pixel };
}

/**
 * The map that stands beside the page as the script map.js, fetched and unpacked at the first call.
 *
 * @returns {Promise<ReturnType<typeof decodeMap>>}
 * @throws {Error} in words: the script is not there, or holds no map.
 */
export async function unpackMap() {
  if (globalThis.OUT_OF_RANK_MAP === undefined) {
    await new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = "map.js"; // a script, since file:// allows no fetch
      script.onload = resolve;
      script.onerror = () => reject(new Error("map.js is not beside this page"));
      document.head.append(script);
    });
  }
  if (!globalThis.OUT_OF_RANK_MAP) throw new Error("map.js holds no map");
  return decodeMap(Uint8Array.from(atob(globalThis.OUT_OF_RANK_MAP), (character) => character.charCodeAt(0)));
}

/**
 * Index of the axis point nearest to a value; dampings are compared by their ratio.
 *
 * @param {Float64Array} axis ascending.
 * @param {number} value
 * @param {(x: number) => number} scale what is evenly spaced: Math.log10 for dampings.
 */
export function nearest(axis, value, scale = (x) => x) {
  const away = (k) => Math.abs(scale(axis[k]) - scale(value));
  return axis.reduce((best, _, k) => (away(k) < away(best) ? k : best), 0);
}

/**
 * First and last edge of the picture along an axis: half a step beyond its first and last points.
 *
 * @param {Float64Array} axis two points or more, evenly spaced in `scale`.
 * @returns {[number, number]} in `scale`.
 */
export function extent(axis, scale = (x) => x) {
  const [first, last] = [scale(axis[0]), scale(axis[axis.length - 1])];
  const half = (last - first) / (axis.length - 1) / 2;
  return [first - half, last + half];
}
