"""What every formula of floor 0 needs before it starts: one array namespace, floating point, checked values."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj

Array = Any
"""A NumPy or JAX array (anything with an array API namespace), or a number or nested list that becomes one."""


def namespace_and_arrays(*values: Array) -> tuple[ModuleType, list[Any]]:
    """The common array namespace of the values, and the values as floating-point arrays of it.

    Plain numbers and lists take the namespace and the float type of the arrays beside them, so that a float64 NumPy
    scalar neither promotes a float32 JAX array nor raises.
    """
    arrays = [value for value in values if is_array_api_obj(value) and not isinstance(value, np.generic)]
    xp = array_namespace(*arrays) if arrays else array_namespace(np.empty(0))
    floating = [array.dtype for array in arrays if xp.isdtype(array.dtype, "real floating")]
    dtype = xp.result_type(*floating) if floating else xp.asarray(0.0).dtype
    return xp, [_as_floating(xp, value, dtype) for value in values]


def _as_floating(xp: ModuleType, value: Array, dtype: Any) -> Any:
    if not is_array_api_obj(value) or isinstance(value, np.generic):
        return xp.asarray(np.asarray(value, dtype=float).tolist(), dtype=dtype)
    if xp.isdtype(value.dtype, "complex floating"):
        raise ValueError(f"values must be real; got an array of {value.dtype}")
    return value if xp.isdtype(value.dtype, "real floating") else xp.astype(value, dtype)


def is_true(condition: Any) -> bool:
    """The truth of a condition of no axes; False while JAX traces it, when there is no value to judge yet.

    The condition is asked, not the arrays it comes from: under `jax.jit` even a comparison of constants is traced.
    """
    jax = sys.modules.get("jax")
    traced = jax is not None and isinstance(condition, jax.core.Tracer)
    return not traced and bool(condition)


def is_zero(parameter: Array) -> bool:
    """Whether a parameter, as the caller gave it, is zero throughout; False for an array that JAX traces.

    It is asked before it becomes an array: under `jax.jit` an array made of a plain number is traced too.
    """
    if not is_array_api_obj(parameter) or isinstance(parameter, np.generic):
        return not np.any(parameter)
    return is_true(array_namespace(parameter).all(parameter == 0))


def require_finite(name: str, array: Any) -> None:
    """Raise ValueError unless every element is finite (values under tracing are not checked)."""
    xp = array_namespace(array)
    if is_true(xp.any(~xp.isfinite(array))):
        raise ValueError(f"{name} must be finite; it holds NaN or infinity: {array}")


def require_at_least_zero(name: str, array: Any) -> None:
    """Raise ValueError unless every element is finite and not negative (values under tracing are not checked)."""
    require_finite(name, array)
    if is_true(array_namespace(array).any(array < 0)):
        raise ValueError(f"{name} must not be negative; got {array}")


def require_damping(name: str, damping: Any) -> None:
    """Raise ValueError unless every element is finite, not negative and small enough to be squared."""
    require_at_least_zero(name, damping)
    xp = array_namespace(damping)
    if is_true(xp.any(damping > float(xp.finfo(damping.dtype).max) ** 0.5)):
        raise ValueError(f"{name} is too large to be squared; got {damping}")


def require_common_batch(batches: dict[str, tuple[int, ...]]) -> None:
    """Raise ValueError unless the leading axes of what is named broadcast together."""
    if any(batches.values()):
        try:
            np.broadcast_shapes(*batches.values())
        except ValueError:
            raise ValueError(f"leading axes do not broadcast: {batches}") from None


def require_last_axis(name: str, array: Any, size: int) -> None:
    """Raise ValueError unless the last axis has the given size."""
    if array.ndim < 1 or array.shape[-1] != size:
        raise ValueError(f"{name} must have shape (..., {size}); got {tuple(array.shape)}")


def rounding_tolerance(xp: Any, J: Any) -> float:
    """The fraction of sigma_1 below which a singular value is rounding: max(m, n) * eps."""
    return max(J.shape[-2:]) * float(xp.finfo(J.dtype).eps)


def task_arrays(
    jacobian: Array, error: Array | None, parameter: Array, name: str = "damping"
) -> tuple[Any, Any, Any, Any]:
    """The namespace, J, e and the parameter as arrays that fit together; ValueError where they do not."""
    if error is None:
        xp, (J, parameter) = namespace_and_arrays(jacobian, parameter)
        e = None
    else:
        xp, (J, e, parameter) = namespace_and_arrays(jacobian, error, parameter)
    if J.ndim < 2 or min(J.shape[-2:]) < 1:
        raise ValueError(f"jacobian must have shape (..., m, n); got {tuple(J.shape)}")
    require_finite("jacobian", J)
    if e is not None:
        if e.ndim < 1 or e.shape[-1] != J.shape[-2]:
            raise ValueError(
                f"error must have shape (..., {J.shape[-2]}) to fit jacobian {tuple(J.shape)}; got {tuple(e.shape)}"
            )
        require_finite("error", e)
    if name == "damping":
        require_damping(name, parameter)
    else:
        require_at_least_zero(name, parameter)
    require_common_batch({"jacobian": J.shape[:-2], "error": () if e is None else e.shape[:-1], name: parameter.shape})
    return xp, J, e, parameter
