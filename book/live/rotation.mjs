// Quaternions w, x, y, z and rotation vectors, as ikcourse/rotation.py.

/** Hamilton product: rotate by b, then by a. It may be written over either. */
export function multiplyQuaternions(a, b, product) {
  const w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  const x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  const y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  const z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
  product[0] = w;
  product[1] = x;
  product[2] = y;
  product[3] = z;
}

const inverse = new Float64Array(4);
const turn = new Float64Array(4);

/**
 * The rotation vector [rad] in world axes that turns `current` into `target`, written into error[3..5].
 *
 * Of q and -q, the same rotation, the one with w > 0 is read; where w is zero, the one whose first non-zero
 * component is positive.
 */
export function rotationError(target, current, error) {
  inverse[0] = current[0];
  for (let i = 1; i < 4; i++) inverse[i] = -current[i];
  multiplyQuaternions(target, inverse, turn);
  let sign = 0;
  for (let i = 0; i < 4 && sign === 0; i++) sign = Math.sign(turn[i]);
  const w = sign * turn[0];
  const sine = Math.sqrt(turn[1] ** 2 + turn[2] ** 2 + turn[3] ** 2);
  // 2 atan2, not arccos: exact to rounding for tiny angles and near pi alike.
  const scale = sine > 0 ? (2 * Math.atan2(sine, w)) / sine : 2;
  for (let i = 0; i < 3; i++) error[3 + i] = scale * sign * turn[i + 1];
}
