"""The reader's function behind a guard: what it is given, and what may come back."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from ikcourse.arm import Arm

Function = Callable[..., Any]
UNANSWERED = "not answered yet"
FOLDER = Path(__file__).parent
PHYSICS = int(mujoco.mjtState.mjSTATE_FULLPHYSICS) | int(mujoco.mjtState.mjSTATE_USER)
"""What of an MjData is the simulation's state. Positions of bodies are not: to refresh them changes nothing."""

ARRAY_CHANGED = "`a += b`, `a[...] = b` and `out=a` write into the caller's array: work on a copy."
DATA_CHANGED = (
    "mj_step and mj_resetData move the simulation, and so does a write to data.qpos or data.qvel that is not taken "
    "back: refresh with mj_kinematics and mj_comPos, or work on an MjData of your own."
)
MODEL_CHANGED = "Gravity, the time step, gains: what stands in arm.model is the robot. Read it, and leave it as it is."


class Broken(Exception):
    """A finding: its name, and what is said about it."""

    def __init__(self, finding: str, message: str) -> None:
        super().__init__(finding, message)
        self.finding, self.message = finding, message


class Answer:
    """The reader's function behind a guard: it gets copies, and what it returns is of the right shape and finite."""

    def __init__(self, function: Function, shape: Callable[..., tuple[int, ...]]) -> None:
        self._function, self._shape = function, shape

    def __call__(self, *arguments: Any) -> np.ndarray:
        """The function's value as a float array.

        Raises:
            Broken: it is unanswered, raises, changes an argument, or returns what cannot be an answer.
        """
        given = [_copied(argument) for argument in arguments]
        before = [_state(argument) for argument in given]
        try:
            with np.errstate(all="ignore"):
                value = self._function(*given)
        except NotImplementedError:
            value = None
        except Broken:
            raise
        except Exception as error:
            raise Broken(f"raises {type(error).__name__}", f"{_where(error)}{error}.") from error
        if value is None or value is Ellipsis:
            raise Broken(UNANSWERED, "The function returns nothing so far. Let it return its answer and run it again.")
        for number, (old, argument) in enumerate(zip(before, given, strict=True), start=1):
            if isinstance(argument, Arm) and not np.array_equal(old, _state(argument)):
                raise Broken("the model is changed", MODEL_CHANGED)
            if not np.array_equal(old, _state(argument), equal_nan=True):
                raise Broken(
                    "an input is changed",
                    f"Argument {number} is not what it was before the call, and the caller still needs it. "
                    + (DATA_CHANGED if isinstance(argument, mujoco.MjData) else ARRAY_CHANGED),
                )
        return checked(value, self._shape(*arguments))


def _copied(argument: Any) -> Any:
    return argument.copy() if isinstance(argument, np.ndarray) else argument


def _state(argument: Any) -> np.ndarray:
    """What may not change in an argument."""
    if isinstance(argument, np.ndarray):
        return argument.copy()
    if isinstance(argument, Arm):
        return model_bytes(argument.model)
    if isinstance(argument, mujoco.MjData):
        state = np.empty(mujoco.mj_stateSize(argument.model, PHYSICS))
        mujoco.mj_getState(argument.model, argument, state, PHYSICS)
        return state
    return np.empty(0)


def model_bytes(model: mujoco.MjModel) -> np.ndarray:
    """All of a model, to see whether it was changed."""
    buffer = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer


def checked(value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The value as a finite float array of the shape; Broken where it is none."""
    try:
        complex_numbers = np.iscomplexobj(value)
        array = np.asarray(value, dtype=float) if not complex_numbers else np.empty(0)
    except (TypeError, ValueError):
        hint = " `np.linalg.lstsq` and `np.linalg.svd` return several things: take the one that is asked for."
        hint = hint if isinstance(value, tuple) else ""
        raise Broken("not an array of numbers", f"A value of type {type(value).__name__} came back.{hint}") from None
    if complex_numbers:
        raise Broken("not real numbers", "The answer is complex; every quantity here is real.")
    if array.shape != shape:
        given = f"The answer has shape {array.shape}; {shape} is asked for."
        raise Broken("wrong shape", given + _shape_hint(array, shape))
    if not np.isfinite(array).all():
        raise Broken(
            "not finite",
            "The answer holds NaN or infinity. Look for a division by a norm that can be zero, a root or arccos of "
            "what rounding pushed out of its range, and an inverse of a singular matrix.",
        )
    return array


def _shape_hint(array: np.ndarray, shape: tuple[int, ...]) -> str:
    """What makes the shape right, where its numbers are the right many."""
    if array.shape == (*shape, 1):
        return " One axis is too many: `x[..., 0]` drops it."
    if array.shape == (1, *shape):
        return " One axis is too many: `x[0]` drops it."
    if array.ndim > 1 and array.T.shape == shape:
        return " It is the transpose in shape."
    if array.ndim == len(shape) + 1 and (array.shape[0] * array.shape[1], *array.shape[2:]) == shape:
        return " `np.concatenate` makes one block of several."
    if len(shape) > 1 and array.size == np.prod(shape):
        flat = "`np.append` and `np.cumsum` flatten, unless they are given an axis."
        parts = "Was a part to be transposed before it was stacked?"
        return f" It has the right many numbers in another arrangement. {flat if array.ndim == 1 else parts}"
    return ""


def _where(error: Exception) -> str:
    """The line of the reader's code in which the error arose, where there is one to show."""
    lines = [frame.line for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent != FOLDER]
    return f"In `{lines[0]}`: " if lines and lines[0] else ""
