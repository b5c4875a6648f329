// What a run of the collapse map looks like: colour says where it ended, lightness and a hatch say it once
// more.
//
// The colours are the figure's of the book (blank at home, blue far behind, vermilion folded, black
// undecided). They stand in the style sheet, turned over in the dark theme, where the key below the map
// reads them too.

/** Final errors between which the ramps run [m], as in the book's figure. */
const LAG = [0.01, 0.1];
const FOLD = [0.1, 0.45];

const SHADES = ["home", "behind", "fold-first", "fold", "fold-last", "undecided", "hatch", "empty", "ink"];
const HATCH_PERIOD = 4; // CSS pixels

/** The colours of the theme that an element stands in, by name, [r, g, b] each. */
function shadesOf(element) {
  const style = getComputedStyle(element);
  const rgb = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
  return Object.fromEntries(SHADES.map((name) => [name, rgb(style.getPropertyValue(`--map-${name}`).trim())]));
}

const mix = (a, b, share) => a.map((x, k) => x + (b[k] - x) * share);
const along = (value, [first, last]) => Math.min(1, Math.max(0, (value - first) / (last - first)));

function colourOf(run, shades) {
  if (run === null) return shades.empty;
  if (run.state === "undecided") return shades.undecided;
  if (run.state === "healthy") return mix(shades.home, shades.behind, along(run.finalError, LAG));
  const share = along(run.finalError, FOLD);
  return share < 0.5
    ? mix(shades["fold-first"], shades.fold, 2 * share)
    : mix(shades.fold, shades["fold-last"], 2 * share - 1);
}

/**
 * Fill a canvas with cells, one a run, sharp at the screen's own resolution.
 *
 * @param {HTMLCanvasElement} canvas laid out: its size on the page is read.
 * @param {number} columns
 * @param {number} rows row 0 is the lowest.
 * @param {(row: number, column: number) => ?{state: string, sensitive: boolean, finalError: number}} at
 *   the run of a cell; null where there is none yet.
 */
export function paintCells(canvas, columns, rows, at) {
  const ratio = globalThis.devicePixelRatio || 1;
  const width = Math.max(columns, Math.round(canvas.clientWidth * ratio));
  const height = Math.max(rows, Math.round(canvas.clientHeight * ratio));
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  const shades = shadesOf(canvas);
  const runs = Array.from({ length: rows * columns }, (_, k) => at(Math.floor(k / columns), k % columns));
  const colours = runs.map((run) => colourOf(run, shades));

  const image = context.createImageData(width, height);
  for (let y = 0, byte = 0; y < height; y++) {
    const row = rows - 1 - Math.floor((y * rows) / height);
    for (let x = 0; x < width; x++, byte += 4) {
      const cell = row * columns + Math.floor((x * columns) / width);
      const hatched = runs[cell]?.state === "undecided" && ((x + y) / ratio) % HATCH_PERIOD < 1;
      const colour = hatched ? shades.hatch : colours[cell];
      image.data[byte] = colour[0];
      image.data[byte + 1] = colour[1];
      image.data[byte + 2] = colour[2];
      image.data[byte + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);

  const dot = Math.max(1, Math.round(Math.min(width / columns, height / rows) / 3));
  runs.forEach((run, cell) => {
    if (!run?.sensitive) return;
    const x = Math.floor(((cell % columns) + 0.5) * (width / columns) - dot / 2);
    const y = Math.floor((rows - Math.floor(cell / columns) - 0.5) * (height / rows) - dot / 2);
    const against = run.state === "undecided" ? shades.empty : shades.ink;
    context.fillStyle = `rgb(${mix(colours[cell], against, 0.55).map(Math.round).join()})`;
    context.fillRect(x, y, dot, dot);
  });
}

/**
 * Call `repaint` now, when the element's size changes, and when the page's theme does.
 *
 * @param {HTMLElement} element
 * @param {() => void} repaint
 */
export function keepPainted(element, repaint) {
  new ResizeObserver(() => element.clientWidth && repaint()).observe(element);
  new MutationObserver(repaint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}
