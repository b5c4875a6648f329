// From a wanted tool velocity to joint velocity: the formulas of ikcourse/inverse.py, for one arm.
//
// With J = U diag(sigma) V^T every law is a filter on the singular values, qdot = V diag(f(sigma)) U^T e:
//
//   damped     f = sigma / (sigma^2 + lambda^2)
//   truncated  f = 1 / sigma where sigma > threshold, else zero
//   transpose  f = gain * sigma
//
// J is (m, n), row by row in a Float64Array; e is (m,); the answer is written into qdot, (n,). Shapes are
// taken from e and qdot. Nothing is allocated after the first call of a shape: a control step must not wait
// for the garbage collector.

import { smallestSingularValue, svd } from "./svd.mjs";

const EPS = Number.EPSILON;
// How far lambda^2 must stand above the rounding of J J^T to be left to the solve, which keeps three digits.
const SOLVE_MARGIN = 1e3;
// The smallest normal number over eps: below this lambda^2 the e / lambda^2 of a J = 0 may overflow.
const TINY = 2 ** -1022 / EPS;

const scratches = new Map();

/** The work arrays of a shape; what is in them is overwritten by the next call. */
function scratchOf(m, n) {
  const key = m * 1024 + n;
  let scratch = scratches.get(key);
  if (!scratch) {
    scratch = {
      matrix: new Float64Array(m * m),
      solution: new Float64Array(m),
      along: new Float64Array(Math.min(m, n)),
      remaining: new Float64Array(m),
      direction: new Float64Array(n),
    };
    scratches.set(key, scratch);
  }
  return scratch;
}

/**
 * Damped least squares: argmin ||J qdot - e||^2 + lambda^2 ||qdot||^2.
 *
 * J^T (J J^T + lambda^2 I)^-1 e by Cholesky's factors, and by the singular values where lambda^2 is lost in
 * the rounding of J J^T. lambda = 0 is the Moore-Penrose solution. Source: Wampler 1986; Nakamura and
 * Hanafusa 1986.
 *
 * @param {Float64Array} jacobian J, (m, n).
 * @param {Float64Array} error e, (m,).
 * @param {number} damping lambda >= 0; it is squared here.
 * @param {Float64Array} qdot the answer, (n,).
 */
export function damped(jacobian, error, damping, qdot) {
  const m = error.length;
  const n = qdot.length;
  const squared = damping * damping;
  let size = 0;
  for (let i = 0; i < jacobian.length; i++) size += jacobian[i] * jacobian[i];
  if (squared <= SOLVE_MARGIN * Math.max(m, n) * EPS * size + TINY) {
    dampedSvd(jacobian, error, damping, qdot);
    return;
  }
  const { matrix, solution } = scratchOf(m, n);
  for (let i = 0; i < m; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = 0;
      for (let c = 0; c < n; c++) sum += jacobian[i * n + c] * jacobian[j * n + c];
      matrix[i * m + j] = sum;
    }
    matrix[i * m + i] += squared;
  }
  solveByCholesky(matrix, error, solution);
  for (let c = 0; c < n; c++) {
    let sum = 0;
    for (let i = 0; i < m; i++) sum += solution[i] * jacobian[i * n + c];
    qdot[c] = sum;
  }
}

/** x of A x = b, A symmetric positive definite: its lower half is read, and overwritten by L of A = L L^T. */
function solveByCholesky(A, b, x) {
  const m = b.length;
  for (let j = 0; j < m; j++) {
    for (let i = j; i < m; i++) {
      let sum = A[i * m + j];
      for (let c = 0; c < j; c++) sum -= A[i * m + c] * A[j * m + c];
      A[i * m + j] = i === j ? Math.sqrt(sum) : sum / A[j * m + j];
    }
  }
  for (let i = 0; i < m; i++) {
    let sum = b[i];
    for (let c = 0; c < i; c++) sum -= A[i * m + c] * x[c];
    x[i] = sum / A[i * m + i];
  }
  for (let i = m - 1; i >= 0; i--) {
    let sum = x[i];
    for (let c = i + 1; c < m; c++) sum -= A[c * m + i] * x[c];
    x[i] = sum / A[i * m + i];
  }
}

/** `damped` by the filter sigma / (sigma^2 + lambda^2) alone: the one to trust near a singularity. */
export function dampedSvd(jacobian, error, damping, qdot) {
  const parts = svd(jacobian, error.length, qdot.length);
  const { sigma } = parts;
  const along = project(parts.left, error, scratchOf(error.length, qdot.length).along);
  const rounding = Math.max(error.length, qdot.length) * EPS * sigma[0];
  for (let i = 0; i < sigma.length; i++) {
    // A singular value that is only rounding would be amplified by a tiny lambda.
    along[i] *= sigma[i] > rounding ? sigma[i] / (sigma[i] * sigma[i] + damping * damping) : 0;
  }
  combine(parts.right, along, qdot);
}

/** Truncated SVD: exact along directions with sigma > threshold, nothing along the rest (Hansen 1987). */
export function truncated(jacobian, error, threshold, qdot) {
  const parts = svd(jacobian, error.length, qdot.length);
  const { sigma } = parts;
  const along = project(parts.left, error, scratchOf(error.length, qdot.length).along);
  for (let i = 0; i < sigma.length; i++) along[i] = sigma[i] > threshold ? along[i] / sigma[i] : 0;
  combine(parts.right, along, qdot);
}

/** Damped least squares with a secondary joint velocity z, (n,), in its null space: z + damped(J, e - J z). */
export function dampedWithSecondary(jacobian, error, secondary, damping, qdot) {
  const { remaining } = scratchOf(error.length, qdot.length);
  for (let i = 0; i < error.length; i++) {
    remaining[i] = error[i] - dot(jacobian, i * qdot.length, secondary);
  }
  damped(jacobian, remaining, damping, qdot);
  for (let c = 0; c < qdot.length; c++) qdot[c] += secondary[c];
}

/**
 * gain * J^T e, along the gradient of ||e||^2 / 2 (Wolovich and Elliott 1984).
 *
 * @param {number | null} gain >= 0; null takes the step that leaves the smallest error to first order,
 *   <e, J J^T e> / ||J J^T e||^2, zero where J^T e is zero (Buss and Kim 2005, eq. 4).
 */
export function transpose(jacobian, error, gain, qdot) {
  const m = error.length;
  const n = qdot.length;
  let longest = 0;
  for (let c = 0; c < n; c++) {
    let sum = 0;
    for (let i = 0; i < m; i++) sum += jacobian[i * n + c] * error[i];
    qdot[c] = sum;
    longest = Math.max(longest, Math.abs(sum));
  }
  let step = gain;
  if (gain === null) {
    // Of the direction alone: the square of a small J^T e would underflow.
    const { direction } = scratchOf(m, n);
    let along = 0;
    for (let c = 0; c < n; c++) {
      direction[c] = longest > 0 ? qdot[c] / longest : 0;
      along += direction[c] * direction[c];
    }
    let moved = 0;
    for (let i = 0; i < m; i++) {
      let sum = 0;
      for (let c = 0; c < n; c++) sum += jacobian[i * n + c] * direction[c];
      moved += sum * sum;
    }
    step = moved > 0 ? along / moved : 0;
  }
  for (let c = 0; c < n; c++) qdot[c] *= step;
}

/**
 * A lambda that grows from dampingMin to dampingMax as sigma_min falls from threshold to zero.
 *
 * lambda^2 = lambda_min^2 + (1 - r^2) (lambda_max^2 - lambda_min^2), r = min(sigma_min / threshold, 1).
 * Source: Maciejewski and Klein 1988.
 *
 * @returns {number} lambda, for `dampedSvd`: it may be zero.
 */
export function adaptiveDamping(jacobian, m, n, threshold, dampingMax, dampingMin) {
  const r = Math.min(Math.max(smallestSingularValue(jacobian, m, n) / threshold, 0), 1);
  const least = dampingMin * dampingMin;
  return Math.sqrt(least + (1 - r * r) * (dampingMax * dampingMax - least));
}

/** Damped least squares with the lambda of `adaptiveDamping`. */
export function adaptive(jacobian, error, { threshold, dampingMax, dampingMin }, qdot) {
  const damping = adaptiveDamping(jacobian, error.length, qdot.length, threshold, dampingMax, dampingMin);
  dampedSvd(jacobian, error, damping, qdot);
}

/** The dot product of a vector with the row of a matrix that starts at `start`. */
function dot(matrix, start, vector) {
  let sum = 0;
  for (let c = 0; c < vector.length; c++) sum += matrix[start + c] * vector[c];
  return sum;
}

/** The part of a vector along each row: rows times vector, into `along`. */
function project(rows, vector, along) {
  for (let i = 0; i < along.length; i++) along[i] = dot(rows, i * vector.length, vector);
  return along;
}

/** The rows' sum, each times its part: along times rows, into `vector`. */
function combine(rows, along, vector) {
  const n = vector.length;
  for (let c = 0; c < n; c++) {
    let sum = 0;
    for (let i = 0; i < along.length; i++) sum += along[i] * rows[i * n + c];
    vector[c] = sum;
  }
}
