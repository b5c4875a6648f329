"""The box of joint velocities, and the wrong ones that are known."""

from __future__ import annotations

import numpy as np

from ikcourse.check._judge import Mistake


def _bounds(q: np.ndarray, lower: np.ndarray, upper: np.ndarray, gain: float, dt: float) -> np.ndarray:
    return gain * np.stack([lower - q, upper - q]) / dt


def right(q: np.ndarray, lower: np.ndarray, upper: np.ndarray, speed: np.ndarray, gain: float, dt: float) -> np.ndarray:
    """What the exercise asks for, (2, n)."""
    return np.clip(_bounds(q, lower, upper, gain, dt), -speed, speed)


def _one_sided(bounds: np.ndarray, speed: np.ndarray) -> np.ndarray:
    return np.stack([np.maximum(bounds[0], -speed), np.minimum(bounds[1], speed)])


MISTAKES = (
    Mistake(
        "the box can be empty",
        "max(-speed, ...) below and min(speed, ...) above are right until a joint is so far outside that they cross, "
        "and then a solver reports no solution at all. Keep both bounds between -speed and speed.",
        (lambda q, lo, up, v, g, dt: _one_sided(_bounds(q, lo, up, g, dt), v),),
    ),
    Mistake(
        "a displacement where a velocity is meant",
        "limit - q is a way; over a step of dt it is a velocity of (limit - q) / dt. Either both bounds are velocities "
        "or both are displacements.",
        (
            lambda q, lo, up, v, g, dt: np.clip(_bounds(q, lo, up, g, 1.0), -v, v),
            lambda q, lo, up, v, g, dt: np.clip(_bounds(q, lo, up, g, 1.0), -v * dt, v * dt),
            lambda q, lo, up, v, g, dt: np.clip(_bounds(q, lo, up, g, dt), -v * dt, v * dt),
            lambda q, lo, up, v, g, dt: np.clip(_bounds(q, lo, up, g, 1 / dt), -v, v),
            lambda q, lo, up, v, g, dt: np.clip(_bounds(q, lo, up, g, 1.0), -v, v) / dt,
            lambda q, lo, up, v, g, dt: _one_sided(_bounds(q, lo, up, g, 1.0), v),
            lambda q, lo, up, v, g, dt: _one_sided(_bounds(q, lo, up, g, 1.0), v * dt),
        ),
    ),
    Mistake(
        "a joint outside may stay outside",
        "The bound is cut at zero, so that a joint beyond its limit is only forbidden to go farther. It has to come "
        "back: beyond the upper limit the highest velocity is negative.",
        (
            lambda q, lo, up, v, g, dt: right(np.clip(q, lo, up), lo, up, v, g, dt),
            lambda q, lo, up, v, g, dt: np.stack(
                [
                    np.clip(_bounds(q, lo, up, g, dt)[0], -v, np.zeros_like(v)),
                    np.clip(_bounds(q, lo, up, g, dt)[1], np.zeros_like(v), v),
                ]
            ),
        ),
    ),
    Mistake(
        "the wider of two bounds",
        "Where two bounds hold, the narrower counts: the larger of the two lowest, the smaller of the two highest.",
        (
            lambda q, lo, up, v, g, dt: np.stack(
                [np.minimum(_bounds(q, lo, up, g, dt)[0], -v), np.maximum(_bounds(q, lo, up, g, dt)[1], v)]
            ),
        ),
    ),
    Mistake(
        "the gain is ignored",
        "One step may go gain of the way to a limit; yours goes all of it.",
        (
            lambda q, lo, up, v, g, dt: np.clip(_bounds(q, lo, up, 1.0, dt), -v, v),
            lambda q, lo, up, v, g, dt: _one_sided(_bounds(q, lo, up, 1.0, dt), v),
        ),
    ),
    Mistake(
        "the gain scales the speed too",
        "gain belongs to the way that is left to a limit. The speed limit is what it is.",
        (
            lambda q, lo, up, v, g, dt: g * np.clip(_bounds(q, lo, up, 1.0, dt), -v, v),
            lambda q, lo, up, v, g, dt: g * _one_sided(_bounds(q, lo, up, 1.0, dt), v),
        ),
    ),
    Mistake(
        "the rows are the wrong way round",
        "The first row is the lowest velocity and the second the highest; or lower and upper have changed places.",
        (lambda q, lo, up, v, g, dt: right(q, lo, up, v, g, dt)[::-1],),
    ),
    Mistake(
        "the sign of a bound",
        "A way is where it ends minus where it starts: the lowest is gain (lower - q) / dt and the highest is "
        "gain (upper - q) / dt, not q minus a limit.",
        (
            lambda q, lo, up, v, g, dt: np.clip(_bounds(q, lo, up, g, dt) * np.array([[-1.0], [1.0]]), -v, v),
            lambda q, lo, up, v, g, dt: np.clip(-_bounds(q, lo, up, g, dt), -v, v),
        ),
    ),
)
