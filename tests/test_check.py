"""The exercise checkers: every named mistake is named, no right answer is refused, an empty one raises nothing.

The wrong answers are written here as a reader would write them; none is taken from the checkers' own formulas.
"""

from __future__ import annotations

import dataclasses
import re

import mujoco
import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve, lstsq, null_space, qr, solve_triangular
from scipy.linalg import solve as scipy_solve
from scipy.spatial.transform import Rotation

import ikcourse as ik
from ikcourse import check, rotation
from ikcourse.check import _scene
from ikcourse.check._loop_record import at_limit, free, recorded, steps_of

inv, pinv, solve, eye, norm = np.linalg.inv, np.linalg.pinv, np.linalg.solve, np.eye, np.linalg.norm

# ----- damped least squares


def remainder_in_place(J, e, d):
    qdot = ik.damped(J, e, d)
    e -= J @ qdot
    return qdot


def other_units_in_place(J, e, d):
    J /= 10
    return ik.damped(J, e / 10, d / 10)


def last_direction_only(J, e, d):
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    f = 1 / s
    f[-1] = s[-1] / (s[-1] ** 2 + d**2)
    return Vt.T @ (f * (U.T @ e))


def by_svd(gain, task=np.transpose):
    def answer(J, e, d):
        U, s, Vt = np.linalg.svd(J, full_matrices=False)
        return Vt.T @ (gain(s, d) * (task(U) @ e))

    return answer


def stacked(J, e, d):
    return np.vstack([J, d * eye(J.shape[1])]), np.concatenate([e, np.zeros(J.shape[1])])


def by_qr(J, e, d):
    A, b = stacked(J, e, d)
    Q, R = qr(A, mode="economic")
    return solve_triangular(R, Q.T @ b)


def by_loop(J, e, d):
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    qdot = np.zeros(J.shape[1])
    for i, sigma in enumerate(s):
        qdot += sigma / (sigma**2 + d**2) * (U[:, i] @ e) * Vt[i]
    return qdot


def by_eigh(J, e, d):
    w, Q = np.linalg.eigh(J @ J.T)
    return J.T @ (Q @ ((Q.T @ e) / (np.maximum(w, 0) + d**2)))


def copied_in_place(J, e, d):
    A = J @ J.T
    A[np.diag_indices_from(A)] += d * d
    return solve(A, e) @ J


DLS_RIGHT = {
    "solve": lambda J, e, d: J.T @ solve(J @ J.T + d**2 * eye(len(J)), e),
    "joint space": lambda J, e, d: solve(J.T @ J + d**2 * eye(J.shape[1]), J.T @ e),
    "svd": ik.damped_svd,
    "svd, one direction at a time": by_loop,
    "qr of the stack": by_qr,
    "lstsq of the stack": lambda J, e, d: np.linalg.lstsq(*stacked(J, e, d))[0],
    "scipy lstsq of the stack": lambda J, e, d: lstsq(*stacked(J, e, d))[0],
    "pinv of the stack": lambda J, e, d: pinv(stacked(J, e, d)[0])[:, : len(J)] @ e,
    "Cholesky": lambda J, e, d: J.T @ cho_solve(cho_factor(J @ J.T + d**2 * eye(len(J))), e),
    "Cholesky in the joints": lambda J, e, d: cho_solve(cho_factor(J.T @ J + d**2 * eye(J.shape[1])), J.T @ e),
    "SciPy's solve, positive definite": lambda J, e, d: (
        J.T @ scipy_solve(J @ J.T + d**2 * eye(len(J)), e, assume_a="pos")
    ),
    "batched": ik.damped,
    "a list": lambda J, e, d: ik.damped(J.tolist(), e.tolist(), d).tolist(),
    "eigenvalues": by_eigh,
    "the diagonal in place, of its own matrix": copied_in_place,
    "a matrix solve": lambda J, e, d: (solve(J @ J.T + d**2 * eye(len(J)), J).T) @ e,
}

DLS_WRONG = {
    ("lambda is not squared", "J J^T + d I"): lambda J, e, d: J.T @ solve(J @ J.T + d * eye(len(J)), e),
    ("lambda is not squared", "joint space"): lambda J, e, d: solve(J.T @ J + d * eye(J.shape[1]), J.T @ e),
    ("lambda is squared twice", "d^4"): lambda J, e, d: J.T @ solve(J @ J.T + (d**2) ** 2 * eye(len(J)), e),
    ("lambda^2 on every entry", "+ d**2"): lambda J, e, d: J.T @ solve(J @ J.T + d**2, e),
    ("lambda^2 on every entry", "ones in the stack"): lambda J, e, d: np.linalg.lstsq(
        np.vstack([J, np.full((J.shape[1], J.shape[1]), d)]), stacked(J, e, d)[1]
    )[0],
    ("lambda^2 is subtracted", "- d^2 I"): lambda J, e, d: J.T @ solve(J @ J.T - d**2 * eye(len(J)), e),
    ("the damping is ignored", "pinv"): lambda J, e, d: pinv(J) @ e,
    ("the damping is ignored", "J^T e"): lambda J, e, d: J.T @ e,
    ("the damping is ignored", "an undamped joint space"): lambda J, e, d: np.linalg.lstsq(J.T @ J, J.T @ e)[0],
    ("another power of sigma", "sigma^2"): by_svd(lambda s, d: s**2 / (s**2 + d**2)),
    ("another power of sigma", "none"): by_svd(lambda s, d: 1 / (s**2 + d**2)),
    ("lambda is added to sigma", "1 / (sigma + lambda)"): by_svd(lambda s, d: 1 / (s + d)),
    ("lambda is not squared", "sigma / (sigma^2 + lambda)"): by_svd(lambda s, d: s / (s**2 + d)),
    ("lambda is not squared", "a root in the stack"): lambda J, e, d: np.linalg.lstsq(*stacked(J, e, d**0.5))[0],
    ("lambda is squared twice", "a square in the stack"): lambda J, e, d: np.linalg.lstsq(*stacked(J, e, d**2))[0],
    ("a transpose is missing", "U for U^T"): by_svd(lambda s, d: s / (s**2 + d**2), task=lambda U: U),
    ("motion in the null space", "ones below e"): lambda J, e, d: np.linalg.lstsq(
        stacked(J, e, d)[0], np.append(e, np.ones(J.shape[1]))
    )[0],
    ("motion in the null space", "e below the zeros"): lambda J, e, d: np.linalg.lstsq(
        stacked(J, e, d)[0], np.append(np.zeros(J.shape[1]), e)
    )[0],
    ("not an array of numbers", "all that lstsq returns"): lambda J, e, d: np.linalg.lstsq(*stacked(J, e, d)),
    ("wrong shape", "a row"): lambda J, e, d: ik.damped(J, e, d)[None],
    ("the damping is ignored", "lstsq"): lambda J, e, d: np.linalg.lstsq(J, e)[0],
    ("J^T J where J J^T is meant", "J.T solve(J.T J)"): lambda J, e, d: (
        J.T @ solve(J.T @ J + d**2 * eye(J.shape[1]), e)
    ),
    ("J^T J where J J^T is meant", "solve(J J.T, J.T e)"): lambda J, e, d: solve(J @ J.T + d**2 * eye(len(J)), J.T @ e),
    ("a transpose is missing", "J in front"): lambda J, e, d: J @ solve(J @ J.T + d**2 * eye(len(J)), e),
    ("a transpose is missing", "nothing in front"): lambda J, e, d: solve(J @ J.T + d**2 * eye(len(J)), e),
    ("a transpose is missing", "J J inside"): lambda J, e, d: J.T @ inv(J @ J + d**2 * eye(len(J))) @ e,
    ("a transpose is missing", "J e, joints"): lambda J, e, d: inv(J.T @ J + d**2 * eye(J.shape[1])) @ J @ e,
    ("the error's sign", "-e"): lambda J, e, d: J.T @ solve(J @ J.T + d**2 * eye(len(J)), -e),
    ("digits lost near a singularity", "inv"): lambda J, e, d: J.T @ inv(J @ J.T + d**2 * eye(len(J))) @ e,
    ("digits lost near a singularity", "inv, joints"): lambda J, e, d: inv(J.T @ J + d**2 * eye(J.shape[1])) @ J.T @ e,
    ("digits lost near a singularity", "pinv of the damped matrix"): lambda J, e, d: (
        J.T @ (pinv(J @ J.T + d**2 * eye(len(J))) @ e)
    ),
    ("a small lambda is treated otherwise", "the pseudo-inverse below 1e-3"): lambda J, e, d: ik.damped(
        J, e, d if d > 1e-3 else 0.0
    ),
    ("digits lost near a singularity", "a floor under lambda"): lambda J, e, d: ik.damped(J, e, max(d, 1e-3)),
    ("a size typed by hand", "a row alone"): lambda J, e, d: ik.damped(J, e, d) * (1 if len(J) > 1 else 2),
    ("digits lost near a singularity", "float32"): lambda J, e, d: ik.damped(
        J.astype(np.float32), e.astype(np.float32), np.float32(d)
    ),
    ("an input is changed", "e"): remainder_in_place,
    ("an input is changed", "J"): other_units_in_place,
    ("a size typed by hand", "eye(6)"): lambda J, e, d: J.T @ solve(J @ J.T + d**2 * eye(6), e),
    ("a size typed by hand", "eye(7)"): lambda J, e, d: solve(J.T @ J + d**2 * eye(7), J.T @ e),
    ("wrong shape", "a column"): lambda J, e, d: ik.damped(J, e, d)[:, None],
    ("wrong shape", "the task's"): lambda J, e, d: J @ ik.damped(J, e, d),
    ("not finite", "infinity"): lambda J, e, d: np.full(J.shape[1], np.inf),
    ("not finite", "0/0"): lambda J, e, d: ik.damped(J, e, d) * (e[0] * 0 / 0),
    ("not real numbers", "complex"): lambda J, e, d: ik.damped(J, e, d) + 0j,
    ("not an array of numbers", "text"): lambda J, e, d: "qdot",
    ("raises KeyError", "a typing error"): lambda J, e, d: {}["damping"],
    ("raises TypeError", "two arguments"): lambda J, e: ik.damped(J, e, 0.1),
    ("wrong gain", "half"): lambda J, e, d: ik.damped(J, e, d) / 2,
    ("wrong gain", "damped by half"): lambda J, e, d: ik.damped(J, e, d / 2),
    ("motion in the null space", "added"): lambda J, e, d: ik.damped(J, e, d) + 0.1 * np.ones(J.shape[1]),
    ("not the best compromise", "only the last direction damped"): last_direction_only,
}

# ----- a secondary motion


def both(J, e, z, d):
    Jd = solve(J @ J.T + d**2 * eye(len(J)), J).T
    return Jd, eye(J.shape[1]) - Jd @ J


def combined(solve_part, project_part):
    def answer(J, e, z, d):
        Jd, N = both(J, e, z, d)
        return solve_part(J, e, Jd, N) + project_part(J, z, Jd, N)

    return answer


def right_solve(J, e, Jd, N):
    return Jd @ e


def unsquared(J, d):
    return solve(J @ J.T + d * eye(len(J)), J).T


def z_in_place(J, e, z, d):
    z += ik.damped(J, e - J @ z, d)
    return z


def stacked_both(J, e, z, d):
    return np.vstack([J, d * eye(J.shape[1])]), np.concatenate([e, d * z])


NULL_RIGHT = {
    "one solve": ik.damped_with_secondary,
    "projector formed": combined(right_solve, lambda J, z, Jd, N: N @ z),
    "from the right": combined(right_solve, lambda J, z, Jd, N: z @ N),
    "never formed": lambda J, e, z, d: ik.damped(J, e, d) + ik.project(J, z, d),
    "z - J# J z": lambda J, e, z, d: ik.damped(J, e, d) + z - ik.damped(J, J @ z, d),
    "svd": lambda J, e, z, d: z + ik.damped_svd(J, e - J @ z, d),
    "joint space": lambda J, e, z, d: solve(J.T @ J + d**2 * eye(len(z)), J.T @ e + d**2 * z),
    "lstsq of the stack": lambda J, e, z, d: np.linalg.lstsq(*stacked_both(J, e, z, d))[0],
    "Cholesky": lambda J, e, z, d: z + J.T @ cho_solve(cho_factor(J @ J.T + d**2 * eye(len(J))), e - J @ z),
    "pinv of the stack": lambda J, e, z, d: z + pinv(np.vstack([J, d * eye(len(z))]))[:, : len(J)] @ (e - J @ z),
    "a list": lambda J, e, z, d: ik.damped_with_secondary(J.tolist(), e.tolist(), z.tolist(), d).tolist(),
    "free part apart": lambda J, e, z, d: (
        ik.damped(J, e + 0, d) + null_space(J) @ null_space(J).T @ z + ik.project(J, pinv(J) @ (J @ z), d)
    ),
}

NULL_WRONG = {
    ("an undamped projector beside a damped solve", "I - J^+ J"): combined(
        right_solve, lambda J, z, Jd, N: z - pinv(J) @ J @ z
    ),
    ("an undamped projector beside a damped solve", "null_space(J)"): lambda J, e, z, d: (
        ik.damped(J, e, d) + null_space(J) @ null_space(J).T @ z
    ),
    ("the objective is not projected", "+ z"): combined(right_solve, lambda J, z, Jd, N: z),
    ("the wrong side of the projector", "J# J z"): combined(right_solve, lambda J, z, Jd, N: Jd @ J @ z),
    ("the wrong side of the projector", "J^+ J z"): combined(right_solve, lambda J, z, Jd, N: pinv(J) @ J @ z),
    ("the wrong side of the projector", "I - J J#"): combined(
        right_solve, lambda J, z, Jd, N: (eye(len(J)) - J @ Jd) @ z
    ),
    ("z is not added back", "J# (e - J z)"): lambda J, e, z, d: ik.damped(J, e - J @ z, d),
    ("the task is projected too", "N (qdot + z)"): combined(lambda J, e, Jd, N: N @ Jd @ e, lambda J, z, Jd, N: N @ z),
    ("lambda is not squared", "both"): lambda J, e, z, d: z + unsquared(J, d) @ (e - J @ z),
    ("lambda is not squared", "projector"): lambda J, e, z, d: ik.damped(J, e, d) + z - unsquared(J, d) @ J @ z,
    ("the damping is ignored", "pinv"): lambda J, e, z, d: z + pinv(J) @ (e - J @ z),
    ("the secondary's sign", "e + J z"): lambda J, e, z, d: z + ik.damped(J, e + J @ z, d),
    ("the secondary's sign", "- N z"): combined(right_solve, lambda J, z, Jd, N: -N @ z),
    ("the secondary is ignored", "no z"): lambda J, e, z, d: ik.damped(J, e, d),
    ("the task's part is wrong", "-e"): lambda J, e, z, d: z + ik.damped(J, -e - J @ z, d),
    ("the free motion is altered", "a gain"): combined(right_solve, lambda J, z, Jd, N: 0.5 * N @ z),
    ("the leak is not the damped projector's", "another lambda"): lambda J, e, z, d: (
        ik.damped(J, e, d) + ik.project(J, z, 2 * d)
    ),
    ("a small lambda is treated otherwise", "the pseudo-inverse below 1e-3"): lambda J, e, z, d: (
        ik.damped_with_secondary(J, e, z, d if d > 1e-3 else 0.0)
    ),
    ("digits lost near a singularity", "inv"): lambda J, e, z, d: (
        z + J.T @ inv(J @ J.T + d**2 * eye(len(J))) @ (e - J @ z)
    ),
    ("a size typed by hand", "eye(7)"): lambda J, e, z, d: ik.damped(J, e, d) + (eye(7) - both(J, e, z, d)[0] @ J) @ z,
    ("an input is changed", "z"): z_in_place,
}

# ----- pose error


def turn(wanted, quaternion):
    return Rotation.from_quat(wanted, scalar_first=True) * Rotation.from_quat(quaternion, scalar_first=True).inv()


def relative(wanted, quaternion):
    r = rotation.quat_multiply(wanted, rotation.quat_conjugate(quaternion))
    return r / norm(r)


def with_angular(angular, linear=lambda t, p: t - p):
    return lambda t, w, p, q: np.concatenate([linear(t, p), angular(w, q)])


def by_atan2(w, q):
    r = relative(w, q)
    r = -r if r[0] < 0 else r
    length = norm(r[1:])
    return 2 * r[1:] if length < 1e-300 else 2 * np.arctan2(length, r[0]) / length * r[1:]


def by_signed_atan(w, q):
    r = relative(w, q)
    length = norm(r[1:])
    return np.zeros(3) if length == 0 else 2 * np.arctan2(length * np.sign(r[0] or 1), abs(r[0])) * r[1:] / length


def by_arcsin_and_arccos(w, q):
    r = relative(w, q) * (1 if relative(w, q)[0] >= 0 else -1)
    length = norm(r[1:])
    half = np.arcsin(length) if length < 0.7 else np.arccos(r[0])
    return r[1:] * (2 * half / length if length else 2)


def by_mujoco(w, q):
    inverse, product, vector = np.empty(4), np.empty(4), np.empty(3)
    mujoco.mju_negQuat(inverse, q)
    mujoco.mju_mulQuat(product, w, inverse)
    mujoco.mju_quat2Vel(vector, product, 1.0)
    return vector


def by_sub_quat(w, q):
    vector = np.empty(3)
    mujoco.mju_subQuat(vector, w, q)
    return vector


def turned_sub_quat(w, q):
    world = np.empty(3)
    mujoco.mju_rotVecQuat(world, by_sub_quat(w, q), q)
    return world


def short_matrix(w, q):
    return Rotation.from_matrix(turn(w, q).as_matrix()).as_rotvec()


def by_arccos(w, q):
    r = relative(w, q) * (1 if relative(w, q)[0] >= 0 else -1)
    angle = 2 * np.arccos(np.clip(r[0], -1, 1))
    return angle * r[1:] / np.sin(angle / 2) if angle > 0 else np.zeros(3)


def arccos_and_axis(w, q):
    r = relative(w, q) * (1 if relative(w, q)[0] >= 0 else -1)
    length = norm(r[1:])
    return 2 * np.arccos(min(r[0], 1)) * r[1:] / length if length else np.zeros(3)


def by_naked_arccos(w, q):
    r = relative(w, q) * (1 if relative(w, q)[0] >= 0 else -1)
    return 2 * np.arccos(r[0]) * r[1:] / np.sqrt(1 - r[0] ** 2)


def divided_by_norm(w, q):
    r = relative(w, q) * (1 if relative(w, q)[0] >= 0 else -1)
    return 2 * np.arctan2(norm(r[1:]), r[0]) * r[1:] / norm(r[1:])


def by_sign_of_w(w, q):
    r = relative(w, q)
    length = norm(r[1:])
    return np.sign(r[0]) * 2 * np.arctan2(length, abs(r[0])) * r[1:] / length if length else np.zeros(3)


def with_threshold(w, q):
    v = by_atan2(w, q)
    return v if norm(v) > 1e-6 else np.zeros(3)


def axis_where_there_is_none(w, q):
    v = by_atan2(w, q)
    return v if norm(v) > 1e-15 else np.array([1.0, 0, 0])


def half_angle(w, q):
    scalar, *u = relative(w, q)
    return np.arctan2(norm(u), abs(scalar))


def cosine_first(w, q):
    scalar, u = relative(w, q)[0], relative(w, q)[1:]
    return 2 * np.arctan2(abs(scalar), norm(u)) * np.copysign(1, scalar) * u / norm(u)


def only_w_turned(w, q):
    u = relative(w, q)[1:]
    return 2 * half_angle(w, q) * u / norm(u) if u.any() else u


def only_u_turned(w, q):
    scalar, u = relative(w, q)[0], relative(w, q)[1:]
    u = -u if scalar < 0 else u
    return 2 * np.arctan2(norm(u), scalar) * u / norm(u) if u.any() else u


def long_way(w, q):
    r = relative(w, q)
    length = norm(r[1:])
    return 2 * np.arctan2(length, r[0]) * r[1:] / length if length else np.zeros(3)


def by_trace(w, q):
    R = turn(w, q).as_matrix()
    skew = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    angle = np.arctan2(norm(skew), (np.trace(R) - 1) / 2)
    return skew * (angle / norm(skew) if norm(skew) > 1e-12 else 1)


def crossed_columns(w, q):
    A, B = (Rotation.from_quat(x, scalar_first=True).as_matrix() for x in (q, w))
    return 0.5 * sum(np.cross(A[:, i], B[:, i]) for i in range(3))


def euler(w, q):
    a, b = (Rotation.from_quat(x, scalar_first=True).as_euler("xyz") for x in (w, q))
    return a - b


def target_in_place(t, w, p, q):
    t -= p
    return np.concatenate([t, by_atan2(w, q)])


def negated_in_place(t, w, p, q):
    if w @ q < 0:
        w *= -1
    return np.concatenate([t - p, by_atan2(w, q)])


POSE_RIGHT = {
    "the package's": ik.pose_error,
    "atan2": with_angular(by_atan2),
    "atan2 with a sign": with_angular(by_signed_atan),
    "arcsin where small, arccos where large": with_angular(by_arcsin_and_arccos),
    "SciPy": with_angular(lambda w, q: turn(w, q).as_rotvec()),
    "SciPy through a matrix": with_angular(short_matrix),
    "MuJoCo": with_angular(by_mujoco),
    "mju_subQuat, turned to the world": with_angular(turned_sub_quat),
    "body error, turned to the world": with_angular(
        lambda w, q: rotation.quat_rotate(
            q, rotation.quat_log(relative(rotation.quat_conjugate(q), rotation.quat_conjugate(w)))
        )
    ),
    "the inverse's, negated": with_angular(lambda w, q: -rotation.rotation_error(q, w)),
    "a list": lambda t, w, p, q: ik.pose_error(t.tolist(), w.tolist(), p.tolist(), q.tolist()).tolist(),
    "an array filled": lambda t, w, p, q: np.array([*(t - p), *by_atan2(w, q)]),
}

POSE_WRONG = {
    ("quaternions are subtracted", "vector part"): with_angular(lambda w, q: (w - q)[1:]),
    ("quaternions are subtracted", "doubled"): with_angular(lambda w, q: 2 * (w - q)[1:]),
    ("quaternions are subtracted", "seven numbers"): with_angular(lambda w, q: w - q),
    ("Euler angles are subtracted", "xyz"): with_angular(euler),
    ("the tool's axes for the world's", "conj(q) w"): with_angular(
        lambda w, q: rotation.quat_log(rotation.quat_multiply(rotation.quat_conjugate(q), w))
    ),
    ("the tool's axes for the world's", "mju_subQuat"): with_angular(by_sub_quat),
    ("the tool's axes for the world's", "all six"): lambda t, w, p, q: np.concatenate(
        [Rotation.from_quat(q, scalar_first=True).inv().apply(x) for x in (t - p, by_atan2(w, q))]
    ),
    ("the sign", "all six"): lambda t, w, p, q: -ik.pose_error(t, w, p, q),
    ("the sign", "linear"): with_angular(by_atan2, lambda t, p: p - t),
    ("the sign", "angular"): with_angular(lambda w, q: by_atan2(q, w)),
    ("angular before linear", "swapped"): lambda t, w, p, q: np.concatenate([by_atan2(w, q), t - p]),
    ("a sine where the angle is meant", "vector part"): with_angular(lambda w, q: relative(w, q)[1:]),
    ("a sine where the angle is meant", "doubled"): with_angular(lambda w, q: 2 * relative(w, q)[1:]),
    ("a sine where the angle is meant", "crossed columns"): with_angular(crossed_columns),
    ("the axis is not of length one", "the angle times u"): with_angular(
        lambda w, q: 2 * half_angle(w, q) * np.copysign(1, relative(w, q)[0]) * relative(w, q)[1:]
    ),
    ("the axis is not of length one", "half the angle times u"): with_angular(
        lambda w, q: half_angle(w, q) * np.copysign(1, relative(w, q)[0]) * relative(w, q)[1:]
    ),
    ("arctan2's arguments exchanged", "arctan2(w, |u|)"): with_angular(cosine_first),
    ("half the angle", "atan2"): with_angular(lambda w, q: by_atan2(w, q) / 2),
    ("double cover", "no flip"): with_angular(long_way),
    ("double cover", "w alone"): with_angular(only_w_turned),
    ("double cover", "u alone"): with_angular(only_u_turned),
    ("half a turn", "trace"): with_angular(by_trace),
    ("digits lost near zero", "arccos"): with_angular(by_arccos),
    ("digits lost near zero", "arccos, axis apart"): with_angular(arccos_and_axis),
    ("not finite", "naked arccos"): with_angular(by_naked_arccos),
    ("digits lost near zero", "a threshold"): with_angular(with_threshold),
    ("digits lost near zero", "the sine's formula up to 0.1 rad"): with_angular(
        lambda w, q: (
            by_atan2(w, q) if norm(by_atan2(w, q)) > 0.1 else 2 * relative(w, q)[1:] * np.sign(relative(w, q)[0])
        )
    ),
    ("not finite", "0/0 at the target"): with_angular(divided_by_norm),
    ("not zero at the target", "an axis of its own"): with_angular(axis_where_there_is_none),
    ("half a turn", "the sign of w"): with_angular(by_sign_of_w),
    ("another product of the two", "conj forgotten"): with_angular(
        lambda w, q: by_atan2(w, rotation.quat_conjugate(q))
    ),
    ("another product of the two", "the target's conj"): with_angular(
        lambda w, q: by_atan2(rotation.quat_conjugate(w), rotation.quat_conjugate(q))
    ),
    ("the scalar last", "SciPy's habit"): with_angular(
        lambda w, q: (Rotation.from_quat(w) * Rotation.from_quat(q).inv()).as_rotvec()
    ),
    ("the scalar last", "of the product"): with_angular(lambda w, q: Rotation.from_quat(relative(w, q)).as_rotvec()),
    ("rotation vectors are subtracted", "SciPy"): with_angular(
        lambda w, q: np.subtract(*(Rotation.from_quat(x, scalar_first=True).as_rotvec() for x in (w, q)))
    ),
    ("Euler angles for a rotation vector", "of the product"): with_angular(lambda w, q: turn(w, q).as_euler("xyz")),
    ("degrees", "SciPy"): with_angular(lambda w, q: turn(w, q).as_rotvec(degrees=True)),
    ("the angular part is wrong", "entry by entry"): with_angular(lambda w, q: 2 * (w * q)[1:]),
    ("wrong shape", "two halves"): lambda t, w, p, q: (t - p, by_atan2(w, q)),
    ("the linear part is wrong", "a sum"): with_angular(by_atan2, lambda t, p: t + p),
    ("an input is changed", "t"): target_in_place,
    ("an input is changed", "w"): negated_in_place,
}

# ----- Jacobian


def refreshed(answer):
    def fresh(arm, data):
        mujoco.mj_kinematics(arm.model, data)
        mujoco.mj_comPos(arm.model, data)
        return answer(arm, data)

    return fresh


def every_column(arm, data):
    J = np.zeros((6, arm.model.nv))
    mujoco.mj_jacSite(arm.model, data, J[:3], J[3:], arm.site)
    return J


def of_columns(columns):
    return refreshed(lambda arm, data: every_column(arm, data)[:, columns(arm)])


def turned_by(R, rows):
    def answer(arm, data):
        J = every_column(arm, data)[:, arm.dofs]
        for block in rows:
            J[block] = R(arm, data).T @ J[block]
        return J

    return refreshed(answer)


def site_axes(arm, data):
    return data.site_xmat[arm.site].reshape(3, 3)


def base_axes(arm, data):
    return data.body("mount").xmat.reshape(3, 3)


def at_point(point):
    def answer(arm, data):
        J, body = np.zeros((6, arm.model.nv)), arm.model.site_bodyid[arm.site]
        mujoco.mj_jac(arm.model, data, J[:3], J[3:], point(arm, data, body), body)
        return J[:, arm.dofs]

    return refreshed(answer)


def of_body(function):
    def answer(arm, data):
        J = np.zeros((6, arm.model.nv))
        function(arm.model, data, J[:3], J[3:], arm.model.site_bodyid[arm.site])
        return J[:, arm.dofs]

    return refreshed(answer)


def by_axes(arm, data):
    mujoco.mj_kinematics(arm.model, data)
    axes = data.xaxis[arm.joints].T
    arms = data.site_xpos[arm.site][:, None] - data.xanchor[arm.joints].T
    return np.concatenate([np.cross(axes, arms, axis=0), axes])


def by_axes_with(
    joints=lambda arm: arm.joints,
    axis=lambda arm, data, ids: data.xaxis[ids],
    anchor=lambda arm, data, ids: data.xanchor[ids],
    cross=np.cross,
    site=lambda arm: arm.site,
):
    """A reader's cross products; every argument is one of their ingredients taken otherwise."""

    def answer(arm, data):
        mujoco.mj_kinematics(arm.model, data)
        ids = joints(arm)
        axes = axis(arm, data, ids)
        return np.vstack([cross(axes, data.site_xpos[site(arm)] - anchor(arm, data, ids)).T, axes.T])

    return answer


def forward_differences(arm, data):
    def pose(q):
        other = mujoco.MjData(arm.model)
        other.qpos[:] = data.qpos
        other.qpos[arm.qpos_addresses] = q
        mujoco.mj_kinematics(arm.model, other)
        return ik.site_pose(arm, other)

    q, h = data.qpos[arm.qpos_addresses], 1e-7
    return np.stack([ik.pose_error(*pose(q + h * step), *pose(q)) / h for step in eye(arm.n)], axis=1)


def restored_differences(arm, data):
    kept, columns = data.qpos.copy(), []
    for address in arm.qpos_addresses:
        ends = []
        for h in (1e-6, -1e-6):
            data.qpos[:] = kept
            data.qpos[address] += h
            mujoco.mj_kinematics(arm.model, data)
            ends.append(ik.site_pose(arm, data))
        columns.append(ik.pose_error(*ends[0], *ends[1]) / 2e-6)
    data.qpos[:] = kept
    return np.array(columns).T


def left_differences(arm, data):
    J = restored_differences(arm, data)
    data.qpos[arm.qpos_addresses[-1]] -= 1e-6
    return J


def stepped(arm, data):
    mujoco.mj_step1(arm.model, data)
    J = ik.site_jacobian(arm, data)
    mujoco.mj_step2(arm.model, data)
    return J


def brought_to_rest(arm, data):
    data.qvel[:] = 0
    return by_axes(arm, data)


def half_refreshed(arm, data):
    mujoco.mj_kinematics(arm.model, data)
    return ik.site_jacobian(arm, data)


def after(refresh):
    def answer(arm, data):
        refresh(arm.model, data)
        return ik.site_jacobian(arm, data)

    return answer


JACOBIAN_RIGHT = {
    "mj_jacSite": refreshed(ik.site_jacobian),
    "after mj_forward": after(mujoco.mj_forward),
    "after mj_step1": after(mujoco.mj_step1),
    "after mj_fwdPosition": after(mujoco.mj_fwdPosition),
    "mj_jac at site_xpos": at_point(lambda arm, data, body: data.site_xpos[arm.site]),
    "hand-made from the axes": by_axes,
    "central differences": lambda arm, data: ik.finite_difference_jacobian(arm, data),
    "forward differences": forward_differences,
    "differences in place, restored": restored_differences,
    "another MjData": lambda arm, data: ik.jacobians_at(arm, data.qpos[arm.qpos_addresses]),
    "a list": refreshed(lambda arm, data: ik.site_jacobian(arm, data).tolist()),
    "tool axes, turned back": refreshed(
        lambda arm, data: np.concatenate([site_axes(arm, data) @ (site_axes(arm, data).T @ block) for block in
                                          np.split(ik.site_jacobian(arm, data), 2)])
    ),
}  # fmt: skip

LINEAR, ANGULAR = slice(3), slice(3, 6)
JACOBIAN_WRONG = {
    ("body axes for world axes", "site, both"): turned_by(site_axes, (LINEAR, ANGULAR)),
    ("body axes for world axes", "site, angular"): turned_by(site_axes, (ANGULAR,)),
    ("body axes for world axes", "site, linear"): turned_by(site_axes, (LINEAR,)),
    ("body axes for world axes", "base"): turned_by(base_axes, (LINEAR, ANGULAR)),
    ("angular before linear", "swapped"): refreshed(lambda arm, data: np.roll(ik.site_jacobian(arm, data), 3, axis=0)),
    ("joint ids for dofs", "arm.joints"): of_columns(lambda arm: arm.joints),
    ("joint ids for dofs", "not refreshed either"): lambda arm, data: every_column(arm, data)[:, arm.joints],
    ("qpos addresses for dofs", "nq for nv"): of_columns(lambda arm: arm.qpos_addresses),
    ("the first columns for the arm's", "[:, :7]"): of_columns(lambda arm: slice(7)),
    ("a point in the body's frame", "site_pos"): at_point(lambda arm, data, body: arm.model.site_pos[arm.site]),
    ("the body's point for the site's", "mj_jacBody"): of_body(mujoco.mj_jacBody),
    ("the body's point for the site's", "mj_jacBodyCom"): of_body(mujoco.mj_jacBodyCom),
    ("the sign", "-J"): refreshed(lambda arm, data: -ik.site_jacobian(arm, data)),
    ("stale kinematics", "no refresh"): ik.site_jacobian,
    ("stale kinematics", "no mj_comPos"): half_refreshed,
    ("an input is changed", "a difference left in qpos"): left_differences,
    ("an input is changed", "a whole step"): stepped,
    ("an input is changed", "brought to rest"): brought_to_rest,
    ("every column of the model", "nv"): refreshed(every_column),
    ("every column of the model", "axes"): by_axes_with(joints=lambda arm: slice(None)),
    ("another site for the arm's", "the first"): by_axes_with(site=lambda arm: 0),
    ("raises ValueError", "every site"): by_axes_with(site=lambda arm: slice(None)),
    ("dofs for joint ids", "axes"): by_axes_with(joints=lambda arm: arm.dofs),
    ("the first columns for the arm's", "axes"): by_axes_with(joints=lambda arm: slice(7)),
    ("the cross product's order", "lever x axis"): by_axes_with(cross=lambda axis, lever: np.cross(lever, axis)),
    ("the lever from the origin", "no anchor"): by_axes_with(anchor=lambda arm, data, ids: 0),
    ("the lever from the origin", "the model's"): by_axes_with(anchor=lambda arm, data, ids: arm.model.jnt_pos[ids]),
    ("an axis in the body's frame", "the model's"): by_axes_with(axis=lambda arm, data, ids: arm.model.jnt_axis[ids]),
    ("the linear rows are wrong", "the first joint's anchor"): by_axes_with(
        anchor=lambda arm, data, ids: data.xanchor[ids[:1]]
    ),
    ("wrong shape", "two halves"): refreshed(lambda arm, data: np.split(ik.site_jacobian(arm, data), 2)),
    ("wrong shape", "two of seven"): refreshed(lambda arm, data: ik.site_jacobian(arm, data)[:2]),
    ("wrong shape", "transposed"): refreshed(lambda arm, data: ik.site_jacobian(arm, data).T),
    ("not finite", "left empty"): refreshed(lambda arm, data: np.full((6, 7), np.nan)),
    ("the linear rows are wrong", "millimetres"): refreshed(
        lambda arm, data: ik.site_jacobian(arm, data) * np.array([[1e3], [1e3], [1e3], [1], [1], [1]])
    ),
    ("the angular rows are wrong", "doubled"): refreshed(
        lambda arm, data: ik.site_jacobian(arm, data) * np.array([[1], [1], [1], [2], [2], [2]])
    ),
    ("raises ValueError", "panda's own"): lambda arm, data: ik.site_jacobian(ik.panda(), data) @ eye(3),
}

# ----- the planar arm's Jacobian


def directions(q):
    """The cosines and the sines of the links."""
    theta = np.cumsum(q)
    return np.cos(theta), np.sin(theta)


def tip(q, lengths):
    c, s = directions(q)
    return np.array([lengths @ c, lengths @ s])


def planar_loop(q, lengths):
    n = len(q)
    J = np.zeros((2, n))
    for i in range(n):
        for k in range(i, n):
            angle = sum(q[: k + 1])
            J[0, i] -= lengths[k] * np.sin(angle)
            J[1, i] += lengths[k] * np.cos(angle)
    return J


def levers(q, lengths):
    """From each joint to the tool."""
    c, s = directions(q)
    ends = np.stack([np.cumsum(lengths * c), np.cumsum(lengths * s)])
    return ends[:, -1:] - np.hstack([np.zeros((2, 1)), ends[:, :-1]])


def planar_levers(q, lengths):
    return np.array([[0, -1], [1, 0]]) @ levers(q, lengths)


def planar_cross(q, lengths):
    x, y = levers(q, lengths)
    return np.cross([0, 0, 1], np.stack([x, y, 0 * x], axis=1))[:, :2].T


def planar_backwards(q, lengths):
    c, s = directions(q)
    rows = np.array([-lengths * s, lengths * c])
    return np.cumsum(rows[:, ::-1], axis=1)[:, ::-1]


def planar_complex(q, lengths):
    links = lengths * np.exp(1j * np.cumsum(q))
    columns = 1j * np.array([links[i:].sum() for i in range(len(q))])
    return np.array([columns.real, columns.imag])


def planar_frames(q, lengths):
    """Product of homogeneous matrices, with one of them differentiated."""

    def link(angle, length, derivative=False):
        c, s = np.cos(angle), np.sin(angle)
        if derivative:
            return np.array([[-s, -c, -length * s], [c, -s, length * c], [0, 0, 0]])
        return np.array([[c, -s, length * c], [s, c, length * s], [0, 0, 1]])

    columns = []
    for i in range(len(q)):
        T = eye(3)
        for k in range(len(q)):
            T = T @ link(q[k], lengths[k], derivative=k == i)
        columns.append(T[:2, 2])
    return np.stack(columns, axis=1)


def planar_recursive(q, lengths):
    if len(q) == 1:
        return lengths[0] * np.array([[-np.sin(q[0])], [np.cos(q[0])]])
    c, s = np.cos(q[0]), np.sin(q[0])
    rest = np.array([[c, -s], [s, c]]) @ planar_recursive(q[1:], lengths[1:])
    return np.column_stack([rest[:, 0] + lengths[0] * np.array([-s, c]), rest])


def planar_mujoco(q, lengths):
    arm = ik.planar(len(q), lengths=list(lengths))
    return ik.site_jacobian(arm, arm.data(q))[:2]


def planar_differences(q, lengths, h=1e-6, back=1.0):
    steps = h * eye(len(q))
    return np.stack([(tip(q + d, lengths) - tip(q - back * d, lengths)) / (h * (1 + back)) for d in steps], axis=1)


PLANAR_RIGHT = {
    "two loops": planar_loop,
    "levers turned": planar_levers,
    "cross products": planar_cross,
    "a sum from behind": planar_backwards,
    "complex numbers": planar_complex,
    "homogeneous matrices": planar_frames,
    "recursion": planar_recursive,
    "MuJoCo": planar_mujoco,
    "central differences": planar_differences,
    "forward differences": lambda q, lengths: planar_differences(q, lengths, h=1e-7, back=0.0),
    "a complex step": lambda q, lengths: np.stack(
        [tip(q + 1e-20j * unit, lengths).imag / 1e-20 for unit in eye(len(q))], axis=1
    ),
    "a triangle": lambda q, lengths: np.stack([-directions(q)[1], directions(q)[0]]) * lengths @ np.tri(len(q)),
    "a list": lambda q, lengths: planar_loop(q.tolist(), lengths.tolist()).tolist(),
    "angles beyond a turn": lambda q, lengths: planar_loop(q + 2 * np.pi, lengths),
}


def planar_of(angles=np.cumsum, sign_x=-1, sign_y=1, first=lambda i: i, last=lambda i, n: n, length=None):
    """A reader's loop over links; every argument is one line of it written otherwise."""

    def answer(q, lengths):
        n, theta = len(q), angles(q)
        J = np.zeros((2, n))
        for i in range(n):
            for k in range(first(i), last(i, n)):
                long = lengths[k] if length is None else length(lengths, i, k)
                J[:, i] += long * np.array([sign_x * np.sin(theta[k]), sign_y * np.cos(theta[k])])
        return J

    return answer


def two_typed(q, lengths):
    a, b = q[0], q[0] + q[1]
    second = lengths[1] * np.array([-np.sin(b), np.cos(b)])
    return np.stack([second + lengths[0] * np.array([-np.sin(a), np.cos(a)]), second], axis=1)


def two_typed_with_plus_sines(q, lengths):
    a, b = q[0], q[0] + q[1]
    second = lengths[1] * np.array([np.sin(b), np.cos(b)])
    return np.stack([second + lengths[0] * np.array([np.sin(a), np.cos(a)]), second], axis=1)


def two_unpacked(q, lengths):
    q1, q2 = q
    return two_typed([q1, q2], lengths)


def two_unpacked_with_joint_angles(q, lengths):
    (q1, q2), (l1, l2) = q, lengths
    return np.array(
        [
            [-l1 * np.sin(q1) - l2 * np.sin(q2), -l2 * np.sin(q2)],
            [l1 * np.cos(q1) + l2 * np.cos(q2), l2 * np.cos(q2)],
        ]
    )


def page_jacobian(q, lengths):
    """The two links of one metre, as the chapter prints them."""
    return two_typed(q, np.ones(2))


def swapped(q, lengths):
    c, s = directions(q)
    return np.array([lengths * c, -lengths * s]) @ np.tri(len(q))


def position_for_velocity(q, lengths):
    c, s = directions(q)
    return np.array([lengths * c, lengths * s]) @ np.tri(len(q))


def planar_from_each_joint(q, lengths):
    J = np.zeros((2, len(q)))
    for i in range(len(q)):
        theta = np.cumsum(q[i:])
        J[:, i] = -lengths[i:] @ np.sin(theta), lengths[i:] @ np.cos(theta)
    return J


def planar_in_place(q, lengths):
    for i in range(1, len(q)):
        q[i] += q[i - 1]
    return planar_of(angles=lambda angles: angles)(q, lengths)


def last_two(q):
    return [q[0], *(q[1:] + q[:-1])]


PLANAR_WRONG = {
    ("the sign", "-J"): planar_of(sign_x=1, sign_y=-1),
    ("the sine's sign", "+ sin"): planar_of(sign_x=1),
    ("the sine's sign", "typed for two links"): two_typed_with_plus_sines,
    ("the cosine's sign", "- cos"): planar_of(sign_y=-1),
    ("x and y exchanged", "y first"): swapped,
    ("x and y exchanged", "not differentiated"): position_for_velocity,
    ("a joint's angle for a link's direction", "q as it is"): planar_of(angles=lambda q: q),
    ("a joint's angle for a link's direction", "unpacked"): two_unpacked_with_joint_angles,
    ("a joint's angle for a link's direction", "from joint i on"): planar_from_each_joint,
    ("a joint's angle for a link's direction", "q[0] left out"): planar_of(angles=lambda q: np.cumsum([0, *q[1:]])),
    ("a joint's angle for a link's direction", "one link too"): planar_of(lambda q: q, last=lambda i, n: i + 1),
    ("a joint's angle for a link's direction", "q[i - 1] + q[i]"): planar_of(angles=last_two),
    ("only the joint's own link", "one link"): planar_of(last=lambda i, n: i + 1),
    ("the joint's own link is missing", "from i + 1"): planar_of(first=lambda i: i + 1),
    ("the links before the joint", "up to i"): planar_of(first=lambda i: 0, last=lambda i, n: i + 1),
    ("the links before the joint", "up to i - 1"): planar_of(first=lambda i: 0, last=lambda i, n: i),
    ("every lever from the shoulder", "all links"): planar_of(first=lambda i: 0),
    ("the last joint first", "reversed"): lambda q, lengths: planar_loop(q, lengths)[:, ::-1],
    ("rows for columns", "np.array(columns)"): lambda q, lengths: np.array(list(planar_loop(q, lengths).T)),
    ("degrees", "deg2rad"): planar_of(angles=lambda q: np.deg2rad(np.cumsum(q))),
    ("degrees", "rad2deg"): planar_of(angles=lambda q: np.rad2deg(np.cumsum(q))),
    ("per degree", "times pi / 180"): lambda q, lengths: planar_loop(q, lengths) * np.pi / 180,
    ("the lengths are ignored", "one metre each"): planar_of(length=lambda lengths, i, k: 1.0),
    ("the lengths are ignored", "the page's own"): page_jacobian,
    ("the wrong link's length", "the joint's"): planar_of(length=lambda lengths, i, k: lengths[i]),
    ("the wrong link's length", "from behind"): planar_of(length=lambda lengths, i, k: lengths[-1 - k]),
    ("the wrong link's length", "a column of lengths"): lambda q, lengths: (
        lengths[:, None] * planar_loop(q, np.ones(len(q)))
    ),
    ("right for two links only", "typed"): two_typed,
    ("right for two links only", "unpacked"): two_unpacked,
    ("right for two links only", "the last two"): lambda q, lengths: (
        planar_loop(q, lengths) if len(q) < 3 else np.hstack([planar_loop(q, lengths)[:, :-1], np.zeros((2, 1))])
    ),
    ("a column is wrong", "coarse differences"): lambda q, lengths: planar_differences(q, lengths, 1e-4, back=0.0),
    ("wrong shape", "flattened"): lambda q, lengths: np.cumsum(planar_loop(q, lengths)),
    ("a column is wrong", "one entry"): lambda q, lengths: planar_loop(q, lengths) + eye(2, len(q)),
    ("wrong shape", "six rows"): lambda q, lengths: np.vstack([planar_loop(q, lengths), np.ones((4, len(q)))]),
    ("wrong shape", "the position"): tip,
    ("raises NameError", "a name of nobody's"): lambda q, lengths: theta,  # noqa: F821
    ("an input is changed", "q summed in place"): planar_in_place,
}

# ----- one step of the loop


def measured(arm, data, position, quaternion, damping, columns=None):
    e = ik.pose_error(position, quaternion, *ik.site_pose(arm, data))
    return ik.damped(ik.site_jacobian(arm, data, columns), e, damping)


def a_step(before=mujoco.mj_step1, after=mujoco.mj_step2, q=None, columns=None, ctrl=None, send=None, give=None):
    """A reader's step; every argument is one line of it written otherwise."""

    def step(arm, data, position, quaternion, damping, integration_dt):
        before(arm.model, data)
        qdot = measured(arm, data, position, quaternion, damping, columns and columns(arm))
        here = data.qpos[q(arm) if q else arm.qpos_addresses]
        setpoint = here + qdot * integration_dt if send is None else send(here, qdot, integration_dt, arm)
        data.ctrl[ctrl(arm) if ctrl else arm.actuators] = np.clip(setpoint, arm.lower, arm.upper)
        after(arm.model, data)
        return qdot if give is None else give(qdot, integration_dt)

    return step


def kinematics(model, data):
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)


def nothing(model, data):
    pass


def step_then_refresh(model, data):
    mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)


def two_steps(model, data):
    mujoco.mj_step(model, data)
    mujoco.mj_step(model, data)


def by_controller(arm, data, position, quaternion, damping, integration_dt):
    return ik.Controller(arm, ik.DampedLeastSquares(damping), data, integration_dt).step(position, quaternion)[0]


def by_joint_names(arm, data, position, quaternion, damping, integration_dt):
    mujoco.mj_step1(arm.model, data)
    qdot = measured(arm, data, position, quaternion, damping)
    for name, speed, low, high in zip(arm.joint_names, qdot, arm.lower, arm.upper, strict=True):
        wanted = data.joint(name).qpos[0] + speed * integration_dt
        data.actuator(name.replace("joint", "actuator")).ctrl[0] = min(max(wanted, low), high)
    mujoco.mj_step2(arm.model, data)
    return list(qdot)


def on_another_data(arm, data, position, quaternion, damping, integration_dt):
    other = mujoco.MjData(arm.model)
    other.qpos[:] = data.qpos
    mujoco.mj_forward(arm.model, other)
    qdot = measured(arm, other, position, quaternion, damping)
    setpoint = np.clip(other.qpos[arm.qpos_addresses] + qdot * integration_dt, arm.lower, arm.upper)
    data.ctrl[arm.actuators] = setpoint
    mujoco.mj_step(arm.model, data)
    return qdot


def clipped_displacement(here, qdot, dt, arm):
    return here + np.clip(qdot * dt, arm.lower - here, arm.upper - here)


def hand_moved(arm, data, position, quaternion, damping, integration_dt):
    mujoco.mj_step1(arm.model, data)
    qdot = measured(arm, data, position, quaternion, damping)
    setpoint = np.clip(data.qpos[arm.qpos_addresses] + qdot * integration_dt, arm.lower, arm.upper)
    data.ctrl[arm.actuators] = setpoint
    data.qpos[arm.qpos_addresses] += qdot * arm.model.opt.timestep
    data.time += arm.model.opt.timestep
    return qdot


def unclipped(arm, data, position, quaternion, damping, integration_dt):
    mujoco.mj_step1(arm.model, data)
    qdot = measured(arm, data, position, quaternion, damping)
    data.ctrl[arm.actuators] = data.qpos[arm.qpos_addresses] + qdot * integration_dt
    mujoco.mj_step2(arm.model, data)
    return qdot


def clipped_by(clip):
    def step(arm, data, position, quaternion, damping, integration_dt):
        mujoco.mj_step1(arm.model, data)
        qdot = measured(arm, data, position, quaternion, damping)
        data.ctrl[arm.actuators] = clip(data.qpos[arm.qpos_addresses] + qdot * integration_dt, arm)
        mujoco.mj_step2(arm.model, data)
        return qdot

    return step


clipped_above = clipped_by(lambda setpoint, arm: np.minimum(setpoint, arm.upper))
clipped_below = clipped_by(lambda setpoint, arm: np.maximum(setpoint, arm.lower))


def scaled_to_limits(here, qdot, dt, arm):
    room = np.where(qdot > 0, arm.upper - here, arm.lower - here) / np.where(qdot == 0, 1, qdot * dt)
    return here + qdot * dt * min(1.0, room.min())


def negative_error(arm, data, position, quaternion, damping, integration_dt):
    mujoco.mj_step1(arm.model, data)
    qdot = -measured(arm, data, position, quaternion, damping)
    setpoint = data.qpos[arm.qpos_addresses] + qdot * integration_dt
    data.ctrl[arm.actuators] = np.clip(setpoint, arm.lower, arm.upper)
    mujoco.mj_step2(arm.model, data)
    return qdot


def all_actuators(arm, data, position, quaternion, damping, integration_dt):
    mujoco.mj_step1(arm.model, data)
    data.ctrl[:] = 0
    qdot = measured(arm, data, position, quaternion, damping)
    setpoint = data.qpos[arm.qpos_addresses] + qdot * integration_dt
    data.ctrl[arm.actuators] = np.clip(setpoint, arm.lower, arm.upper)
    mujoco.mj_step2(arm.model, data)
    return qdot


def damping_by_hand(arm, data, position, quaternion, damping, integration_dt):
    return a_step()(arm, data, position, quaternion, 0.1, integration_dt)


def target_moved(arm, data, position, quaternion, damping, integration_dt):
    position += 0.0001
    return a_step()(arm, data, position - 0.0001, quaternion, damping, integration_dt)


def weightless(arm, data, position, quaternion, damping, integration_dt):
    arm.model.opt.gravity[:] = 0
    return a_step()(arm, data, position, quaternion, damping, integration_dt)


def silent(*arguments):
    a_step()(*arguments)


def joints(arm):
    return arm.joints


LOOP_RIGHT = {
    "mj_step1, mj_step2": a_step(),
    "kinematics and comPos, mj_step": a_step(kinematics, mujoco.mj_step),
    "mj_forward, mj_step": a_step(mujoco.mj_forward, mujoco.mj_step),
    "mj_fwdPosition, mj_step": a_step(mujoco.mj_fwdPosition, mujoco.mj_step),
    "mj_step, then mj_forward for the next": a_step(nothing, step_then_refresh),
    "the package's controller": by_controller,
    "by joint names, a list back": by_joint_names,
    "measured on another MjData": on_another_data,
    "the displacement clipped": a_step(send=clipped_displacement),
    "clipped by the actuators' range": a_step(
        send=lambda here, qdot, dt, arm: np.clip(here + dt * qdot, *arm.model.actuator_ctrlrange[arm.actuators].T)
    ),
}


def write_to_qpos(model, data):
    data.qpos[:7] = data.ctrl[:7]
    mujoco.mj_forward(model, data)


LOOP_WRONG = {
    ("a stale pose", "mj_step alone"): a_step(nothing, mujoco.mj_step),
    ("a stale pose", "mj_kinematics without mj_comPos"): a_step(mujoco.mj_kinematics, mujoco.mj_step),
    ("a stale pose", "mj_step before measuring"): a_step(mujoco.mj_step, nothing),
    ("a stale pose", "mj_step2 without mj_step1"): a_step(nothing, mujoco.mj_step2),
    ("a displacement where a velocity is meant", "q + qdot"): a_step(send=lambda q, qdot, dt, arm: q + qdot),
    ("a displacement where a velocity is meant", "q + qdot * timestep"): a_step(
        send=lambda q, qdot, dt, arm: q + qdot * arm.model.opt.timestep
    ),
    ("a displacement where a velocity is meant", "dt twice"): a_step(send=lambda q, qdot, dt, arm: q + qdot * dt * dt),
    ("a displacement where a velocity is meant", "dq is returned"): a_step(give=lambda qdot, dt: qdot * dt),
    ("a displacement where a velocity is meant", "error / dt, q + qdot"): a_step(
        send=lambda q, qdot, dt, arm: q + qdot, give=lambda qdot, dt: qdot / dt
    ),
    ("a velocity sent as a setpoint", "qdot"): a_step(send=lambda q, qdot, dt, arm: qdot),
    ("a velocity sent as a setpoint", "qdot * dt"): a_step(send=lambda q, qdot, dt, arm: qdot * dt),
    ("joint ids for dofs", "columns"): a_step(columns=joints),
    ("joint ids for dofs", "qpos"): a_step(q=joints),
    ("joint ids for dofs", "qpos by dofs"): a_step(q=lambda arm: arm.dofs),
    ("joint ids for dofs", "ctrl"): a_step(ctrl=joints),
    ("joint ids for dofs", "everywhere"): a_step(q=joints, columns=joints, ctrl=joints),
    ("joint ids for dofs", "[:7] everywhere"): a_step(*[mujoco.mj_step1, mujoco.mj_step2, *[lambda arm: slice(7)] * 3]),
    ("an unclipped setpoint", "left to MuJoCo"): unclipped,
    ("an unclipped setpoint", "above alone"): clipped_above,
    ("an unclipped setpoint", "below alone"): clipped_below,
    ("the commanded velocity is wrong", "damping typed by hand"): damping_by_hand,
    ("the setpoint is wrong", "integration_dt typed by hand"): a_step(
        send=lambda q, qdot, dt, arm: np.clip(q + qdot * 0.4, arm.lower, arm.upper)
    ),
    ("an input is changed", "the target"): target_moved,
    ("the model is changed", "gravity"): weightless,
    ("an unclipped setpoint", "scaled instead"): a_step(send=scaled_to_limits),
    ("the error's sign", "-qdot"): negative_error,
    ("the setpoint is wrong", "built on home"): a_step(send=lambda q, qdot, dt, arm: arm.home + qdot * dt),
    ("joints moved by hand", "qpos +="): hand_moved,
    ("joints moved by hand", "no physics at all"): a_step(after=write_to_qpos),
    ("the simulation does not advance by one step", "mj_step twice"): a_step(kinematics, two_steps),
    ("the simulation does not advance by one step", "mj_step1 only"): a_step(after=nothing),
    ("another's actuator", "ctrl[:] = 0"): all_actuators,
    ("nothing is returned", "no return"): silent,
    ("wrong shape", "all dofs"): a_step(give=lambda qdot, dt: np.zeros(9)),
    ("not finite", "NaN"): a_step(give=lambda qdot, dt: qdot * np.nan),
    ("the commanded velocity is wrong", "half the speed"): a_step(
        give=lambda qdot, dt: qdot / 2, send=lambda q, qdot, dt, arm: q + qdot / 2 * dt
    ),
}

CHECKERS = {
    check.dls: (DLS_RIGHT, DLS_WRONG),
    check.nullspace: (NULL_RIGHT, NULL_WRONG),
    check.pose_error: (POSE_RIGHT, POSE_WRONG),
    check.jacobian: (JACOBIAN_RIGHT, JACOBIAN_WRONG),
    check.loop: (LOOP_RIGHT, LOOP_WRONG),
    check.planar_jacobian: (PLANAR_RIGHT, PLANAR_WRONG),
}
RIGHT = [
    pytest.param(checker, answer, id=f"{checker.__name__}: {how}")
    for checker, (right, _) in CHECKERS.items()
    for how, answer in right.items()
]
WRONG = [
    pytest.param(checker, name, answer, id=f"{checker.__name__}: {name}: {how}")
    for checker, (_, wrong) in CHECKERS.items()
    for (name, how), answer in wrong.items()
]
each_checker = pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.__name__)


@pytest.mark.parametrize(("checker", "answer"), RIGHT)
def test_a_right_answer_passes_whatever_its_formula(checker, answer):
    result = checker(answer)
    assert result, result
    assert result.finding == "passed"


@each_checker
def test_at_least_ten_right_formulas_are_tried(checker):
    assert len(CHECKERS[checker][0]) >= 10


@pytest.mark.parametrize(("checker", "name", "answer"), WRONG)
def test_a_mistake_is_named_in_a_sentence_or_three(checker, name, answer):
    result = checker(answer)
    assert not result
    assert result.finding == name, result
    assert result.message[-1] in ".?"
    assert len(result.message) < 420, len(result.message)


@each_checker
def test_every_finding_that_a_checker_can_make_has_its_mistake_here(checker):
    module = __import__(f"ikcourse.check._{checker.__name__}", fromlist=["EXERCISE"])
    names = {named.name for named in (*module.EXERCISE.mistakes, *module.EXERCISE.properties)}
    assert names - {name for name, _ in CHECKERS[checker][1]} == set()


@pytest.mark.parametrize(
    "checker", [each for each in CHECKERS if each is not check.loop], ids=lambda checker: checker.__name__
)
def test_no_mistake_is_taken_for_another(checker):
    """Of those whose mistakes are answers; the loop's are written for a record of steps."""
    module = __import__(f"ikcourse.check._{checker.__name__}", fromlist=["EXERCISE"])
    named = {
        (mistake.name, number): checker(formula).finding
        for mistake in module.EXERCISE.mistakes
        for number, formula in enumerate(mistake.formulas)
    }
    assert {key: finding for key, finding in named.items() if key[0] != finding} == {}


# ----- empty answers


def empty(*arguments):
    """What a reader has not written yet."""


def dots(*arguments): ...


def ellipsis(*arguments):
    return ...


def refused(*arguments):
    raise NotImplementedError


@each_checker
@pytest.mark.parametrize("answer", [None, ..., empty, dots, ellipsis, refused])
def test_an_empty_answer_is_told_so_and_raises_nothing(checker, answer):
    result = checker(answer)
    assert not result
    assert result.finding == "not answered yet"


@each_checker
def test_an_answer_that_raises_is_shown_its_message_and_its_line(checker):
    def answer(*arguments):
        raise RuntimeError("the elbow is <stuck>")

    result = checker(answer)
    assert result.finding == "raises RuntimeError"
    assert "the elbow is <stuck>" in result.message
    assert 'raise RuntimeError("the elbow is <stuck>")' in result.message
    assert "&lt;stuck&gt;" in result._repr_html_()
    assert "<stuck>" not in result._repr_html_()


@each_checker
def test_what_cannot_be_called_is_told_so(checker):
    assert checker(3.0).finding == "raises TypeError"


def test_an_interrupt_is_not_swallowed():
    def answer(*arguments):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check.dls(answer)


@pytest.mark.parametrize(
    ("value", "shape", "said"),
    [
        (np.ones((7, 1)), (7,), "`x[..., 0]` drops it"),
        (np.ones((1, 7)), (7,), "`x[0]` drops it"),
        (np.ones((7, 6)), (6, 7), "the transpose in shape"),
        ((np.ones(3), np.ones(3)), (6,), "`np.concatenate`"),
        (np.ones((2, 3, 7)), (6, 7), "`np.concatenate`"),
        (np.ones((14, 3)), (6, 7), "to be transposed"),
        (np.ones(4), (2, 2), "`np.cumsum` flatten"),
        (np.ones(3), (6,), "(6,) is asked for."),
        ((np.ones(7), 0.5, 6), (7,), "take the one that is asked for"),
    ],
)
def test_a_wrong_shape_is_told_what_makes_it_right(value, shape, said):
    from ikcourse.check._answer import Broken, checked

    with pytest.raises(Broken) as broken:
        checked(value, shape)
    assert said in broken.value.message
    hints = ("drops it", "transpose", "concatenate", "flatten")
    assert sum(hint in broken.value.message for hint in hints) <= 1


@pytest.mark.parametrize(
    ("checker", "answer"),
    [
        (check.planar_jacobian, lambda q, lengths: planar_differences(q, lengths, 1e-4, back=0.0)),
        (check.jacobian, lambda arm, data: ik.finite_difference_jacobian(arm, data, 2e-2)),
    ],
    ids=["planar", "panda"],
)
def test_a_column_that_is_nearly_right_is_told_with_digits_that_differ(checker, answer):
    vectors = re.findall(r"\([-\d., ]+\)", checker(answer).message)[-2:]
    assert len(vectors) == 2
    assert vectors[0] != vectors[1]


def test_half_a_flip_is_told_from_the_long_way_round():
    assert "the long way round" in check.pose_error(POSE_WRONG["double cover", "no flip"]).message
    assert "rad from the target" in check.pose_error(POSE_WRONG["double cover", "w alone"]).message


def test_changed_data_is_told_what_moves_it():
    assert "mj_step" in check.jacobian(stepped).message
    assert "a += b" in check.dls(remainder_in_place).message


# ----- results


def test_a_result_is_small_frozen_and_readable():
    result = check.dls(DLS_WRONG["the error's sign", "-e"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.passed = True
    assert repr(result) == f"The error's sign: {result.message}"
    assert result._repr_markdown_().startswith("**The error's sign.** ")
    assert "admonition warning" in result._repr_html_()
    assert "`J @ J.T + damping**2`" in check.dls(lambda J, e, d: J.T @ solve(J @ J.T + d**2, e)).message
    assert (
        "<code>J @ J.T + damping**2</code>" in check.dls(lambda J, e, d: J.T @ solve(J @ J.T + d**2, e))._repr_html_()
    )
    assert "admonition tip" in check.dls(ik.damped)._repr_html_()
    assert "admonition note" in check.dls(None)._repr_html_()


# ----- what the checkers stand on


def test_a_wrong_size_message_says_which():
    result = check.dls(DLS_WRONG["a size typed by hand", "eye(7)"])
    assert "6 x 6" in result.message


def test_the_scene_lets_no_index_equal_another():
    arm = _scene.arm()
    rows = [arm.joints, arm.dofs, arm.qpos_addresses, arm.actuators, np.arange(arm.n)]
    assert all((a != b).all() for i, a in enumerate(rows) for b in rows[:i])
    assert max(arm.joints.max(), arm.qpos_addresses.max()) < arm.model.nv
    assert arm.joints.max() < arm.model.nu
    assert arm.site > 0


def test_the_free_case_stays_off_the_limits_and_the_other_one_does_not():
    from ikcourse.check._answer import Answer
    from ikcourse.check._loop import EXERCISE

    arm, answer = _scene.arm(), Answer(recorded(unclipped), EXERCISE.shape)
    for case, free_of_limits in ((free(), True), (at_limit(), False)):
        setpoints = np.array([step.setpoint for step in steps_of(answer, case)])
        assert ((setpoints > arm.lower) & (setpoints < arm.upper)).all() == free_of_limits


def test_a_solve_and_an_explicit_inverse_are_far_apart_near_the_singularity():
    from ikcourse.check._problems import NEAR_SINGULAR as p

    kept = {how: p.residual(answer(p.J, p.e, p.damping)) for how, answer in DLS_RIGHT.items()}
    lost = [
        p.residual(DLS_WRONG["digits lost near a singularity", how](p.J, p.e, p.damping))
        for how in ("inv", "inv, joints")
    ]
    assert max(kept.values()) < 1e-12, kept
    assert min(lost) > 1e-7, lost
