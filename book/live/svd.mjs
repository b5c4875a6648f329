// The singular values and directions of a small matrix, allocating nothing after the first call of a shape.

const EPS = Number.EPSILON;
// Six or so are enough: a guard against turning for ever, not a tolerance.
const MOST_SWEEPS = 40;

const shapes = new Map();

function partsOf(m, n) {
  const key = m * 1024 + n;
  let parts = shapes.get(key);
  if (!parts) {
    const k = Math.min(m, n);
    parts = { sigma: new Float64Array(k), left: new Float64Array(k * m), right: new Float64Array(k * n) };
    shapes.set(key, parts);
  }
  return parts;
}

/**
 * J = sum of sigma_i u_i v_i^T by one-sided Jacobi rotations (Hestenes 1958).
 *
 * The rows of J (its columns, where they are fewer) are turned in pairs until all are orthogonal; their
 * lengths are then the singular values. J J^T, which would lose half of the digits of a small one, is never
 * formed.
 *
 * @param {Float64Array} jacobian J, (m, n).
 * @returns {{sigma: Float64Array, left: Float64Array, right: Float64Array}} with k = min(m, n): sigma (k,),
 *   largest first; u_i in the rows of left, (k, m); v_i in the rows of right, (k, n). Where sigma_i is zero,
 *   the longer of u_i and v_i is zero. Overwritten by the next call of the same shape.
 */
export function svd(jacobian, m, n) {
  const parts = partsOf(m, n);
  const { sigma, left, right } = parts;
  const wide = m <= n;
  const k = wide ? m : n;
  const length = wide ? n : m;
  const rows = wide ? right : left; // becomes sigma_i times the long vectors
  const turns = wide ? left : right; // the product of all rotations: the short vectors
  for (let i = 0; i < k; i++) {
    for (let c = 0; c < length; c++) rows[i * length + c] = wide ? jacobian[i * n + c] : jacobian[c * n + i];
    for (let c = 0; c < k; c++) turns[i * k + c] = i === c ? 1 : 0;
  }
  let turned = true;
  for (let sweep = 0; turned && sweep < MOST_SWEEPS; sweep++) {
    turned = false;
    for (let p = 0; p < k - 1; p++) {
      for (let q = p + 1; q < k; q++) {
        if (makeOrthogonal(rows, turns, p * length, q * length, length, p * k, q * k, k)) turned = true;
      }
    }
  }
  for (let i = 0; i < k; i++) {
    let squared = 0;
    for (let c = 0; c < length; c++) squared += rows[i * length + c] ** 2;
    sigma[i] = Math.sqrt(squared);
    if (sigma[i] > 0) for (let c = 0; c < length; c++) rows[i * length + c] /= sigma[i];
  }
  for (let i = 0; i < k; i++) {
    let largest = i;
    for (let j = i + 1; j < k; j++) if (sigma[j] > sigma[largest]) largest = j;
    if (largest !== i) {
      swap(sigma, i, largest, 1);
      swap(rows, i * length, largest * length, length);
      swap(turns, i * k, largest * k, k);
    }
  }
  return parts;
}

/** Turn two rows in their plane until they are orthogonal; false where they are. */
function makeOrthogonal(rows, turns, a, b, length, turnA, turnB, k) {
  let alpha = 0;
  let beta = 0;
  let gamma = 0;
  for (let c = 0; c < length; c++) {
    alpha += rows[a + c] * rows[a + c];
    beta += rows[b + c] * rows[b + c];
    gamma += rows[a + c] * rows[b + c];
  }
  if (Math.abs(gamma) <= EPS * Math.sqrt(alpha * beta)) return false;
  const zeta = (beta - alpha) / (2 * gamma);
  const t = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.sqrt(1 + zeta * zeta));
  const cos = 1 / Math.sqrt(1 + t * t);
  const sin = cos * t;
  turn(rows, a, b, length, cos, sin);
  turn(turns, turnA, turnB, k, cos, sin);
  return true;
}

function turn(array, a, b, length, cos, sin) {
  for (let c = 0; c < length; c++) {
    const x = array[a + c];
    const y = array[b + c];
    array[a + c] = cos * x - sin * y;
    array[b + c] = sin * x + cos * y;
  }
}

function swap(array, a, b, length) {
  for (let c = 0; c < length; c++) {
    const kept = array[a + c];
    array[a + c] = array[b + c];
    array[b + c] = kept;
  }
}

/** sigma_min of J, (m, n); zero with fewer joints than rows, since some direction is then always missing. */
export function smallestSingularValue(jacobian, m, n) {
  return n < m ? 0 : svd(jacobian, m, n).sigma[m - 1];
}
