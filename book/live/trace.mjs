// The last seconds of a few numbers, each on a strip of its own, on one 2-D canvas.

const SECONDS = 8;
const LEFT = 48; // [px] for the numbers beside a strip
const [TOP, BOTTOM, GAP] = [22, 18, 28]; // [px] above, below and between strips: room for names and times
const MOST_PIXELS = 2;

/**
 * Strips that share a time axis; every axis is logarithmic.
 *
 * @param {HTMLCanvasElement} canvas - drawn at its own CSS size.
 * @param {{name: string, unit: string, low: number, high: number}[]} strips - low, high: powers of ten.
 * @returns {{push: (time: number, values: number[]) => void, clear: () => void, setColours: () => void,
 *   draw: (limits: ({value: number, name: string} | null)[]) => void}}
 *   draw(limits), one a strip: a dashed line with its name; what lies below is thick, in the colour of alarm.
 *   setColours() reads them anew from the stylesheet.
 */
export function makeTraces(canvas, strips) {
  const brush = canvas.getContext("2d");
  let samples = [];
  let colours = coloursOf(canvas);

  function draw(limits) {
    const { ink, quiet, rule, blue, vermilion, font } = colours;
    const { clientWidth: width, clientHeight: height } = canvas;
    if (!width || !brush) return;
    const scale = Math.min(globalThis.devicePixelRatio, MOST_PIXELS);
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    brush.setTransform(scale, 0, 0, scale, 0, 0);
    brush.clearRect(0, 0, width, height);
    brush.font = font;

    const tall = (height - TOP - BOTTOM - GAP * (strips.length - 1)) / strips.length;
    const now = samples.length ? samples.at(-1).time : 0;
    const across = (time) => width - 1 - ((now - time) / SECONDS) * (width - 1 - LEFT);
    strips.forEach(({ name, unit, low, high }, strip) => {
      const floor = TOP + strip * (tall + GAP) + tall;
      const decades = Math.log10(high / low);
      const share = (value) => Math.min(Math.max(Math.log10(value / low) / decades, 0), 1);
      const up = (value) => floor - share(value) * tall;

      brush.textBaseline = "alphabetic";
      brush.textAlign = "left";
      brush.fillStyle = ink;
      brush.fillText(name, LEFT, floor - tall - 8);
      brush.fillStyle = quiet;
      brush.fillText(unit, LEFT + brush.measureText(name).width + 6, floor - tall - 8);
      brush.textAlign = "right";
      brush.textBaseline = "middle";
      brush.strokeStyle = rule;
      brush.lineWidth = 1;
      for (let decade = 0; decade <= decades; decade++) {
        const y = Math.round(up(low * 10 ** decade)) + 0.5;
        if (decade % Math.ceil(decades / 3) !== 0) continue;
        stroke(brush, [[LEFT, y], [width, y]]);
        brush.fillText(short(low * 10 ** decade), LEFT - 8, y);
      }

      const limit = limits[strip];
      if (limit !== null) {
        const y = Math.round(up(limit.value)) + 0.5;
        brush.strokeStyle = quiet;
        brush.setLineDash([5, 4]);
        stroke(brush, [[LEFT, y], [width, y]]);
        brush.setLineDash([]);
        brush.textAlign = "left";
        brush.textBaseline = y - (floor - tall) > 18 ? "bottom" : "top";
        brush.fillStyle = ink;
        brush.fillText(limit.name, LEFT + 4, brush.textBaseline === "top" ? y + 4 : y - 2);
      }
      brush.save();
      brush.beginPath();
      brush.rect(LEFT, floor - tall - 2, width - LEFT, tall + 4);
      brush.clip();
      for (const run of runsOf(samples, strip, limit)) {
        brush.strokeStyle = run.below ? vermilion : blue;
        brush.lineWidth = run.below ? 2.5 : 1.75;
        stroke(brush, run.samples.map(({ time, values }) => [across(time), up(values[strip])]));
      }
      brush.restore();
    });

    brush.textBaseline = "top";
    brush.fillStyle = quiet;
    for (let back = 0; back <= SECONDS; back += 2) {
      brush.textAlign = back === 0 ? "right" : "center";
      const x = back === 0 ? width : across(now - back);
      brush.fillText(back === 0 ? "now" : `−${back} s`, x, height - BOTTOM + 6);
    }
  }

  return {
    push(time, values) {
      samples.push({ time, values });
      if (samples[0].time > time - 1.25 * SECONDS) return; // now and then will do
      samples = samples.filter((sample) => sample.time >= time - SECONDS);
    },
    clear: () => (samples = []),
    setColours: () => (colours = coloursOf(canvas)),
    draw,
  };
}

function coloursOf(canvas) {
  const style = getComputedStyle(canvas);
  const names = ["ink", "quiet", "rule", "blue", "vermilion"];
  const colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  return { ...colours, font: `12px ${style.fontFamily}` };
}

/** Neighbouring samples on the same side of the limit, each run joined to the one before it. */
function runsOf(samples, strip, limit) {
  const runs = [];
  for (const sample of samples) {
    const below = limit !== null && sample.values[strip] < limit.value;
    const run = runs.at(-1);
    if (run?.below === below) run.samples.push(sample);
    else runs.push({ below, samples: run ? [run.samples.at(-1), sample] : [sample] });
  }
  return runs;
}

function stroke(brush, points) {
  brush.beginPath();
  points.forEach(([x, y], k) => (k ? brush.lineTo(x, y) : brush.moveTo(x, y)));
  brush.stroke();
}

/** 0.001, 1, 1000, and beyond that 10⁻⁶. */
function short(value) {
  const power = Math.round(Math.log10(value));
  if (Math.abs(power) <= 3) return String(Number(value.toPrecision(1)));
  return `10${[...String(power)].map((digit) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(digit)]).join("")}`;
}
