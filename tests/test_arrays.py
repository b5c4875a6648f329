"""One formula, any array: NumPy, a strict array API implementation and JAX give the same numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import array_api_strict
import numpy as np
import pytest

import ikcourse as ik
from ikcourse import ellipsoid, nullspace, rotation

# Every public function of floor 0, as a function of arrays alone.
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "damped": (ik.damped, ("J", "e", "damping")),
    "damped, one lambda": (lambda J, e: ik.damped(J, e, 0.05), ("J", "e")),
    "damped_joint_space": (ik.damped_joint_space, ("J", "e", "damping")),
    "damped_svd": (ik.damped_svd, ("J", "e", "damping")),
    "pseudo_inverse": (ik.pseudo_inverse, ("J", "e")),
    "truncated": (lambda J, e: ik.truncated(J, e, 0.4), ("J", "e")),
    "transpose": (ik.transpose, ("J", "e")),
    "transpose, gain": (ik.transpose, ("J", "e", "damping")),
    "adaptive_damping": (lambda J: ik.adaptive_damping(J, 0.9, 0.5, 0.01), ("J",)),
    "selectively_damped": (ik.selectively_damped, ("J", "e")),
    "project": (nullspace.project, ("J", "z")),
    "project, damped": (nullspace.project, ("J", "z", "damping")),
    "damped_with_secondary": (nullspace.damped_with_secondary, ("J", "e", "z", "damping")),
    "posture": (nullspace.posture, ("z", "z", "damping")),
    "manipulability": (ellipsoid.manipulability, ("J",)),
    "quat_normalize": (rotation.quat_normalize, ("p",)),
    "quat_multiply": (rotation.quat_multiply, ("p", "q")),
    "quat_conjugate": (rotation.quat_conjugate, ("p",)),
    "quat_rotate": (rotation.quat_rotate, ("p", "v")),
    "quat_exp": (rotation.quat_exp, ("v",)),
    "quat_log": (rotation.quat_log, ("p",)),
    "rotation_error": (rotation.rotation_error, ("p", "q")),
    "log_jacobian": (rotation.log_jacobian, ("v",)),
    "skew": (rotation.skew, ("v",)),
}


def problem(batch: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Arrays for every argument above; quaternions and vectors include the identity, tiny turns and half turns."""
    rng = np.random.default_rng(7)
    p, q, v = rng.normal(size=(*batch, 4)), rng.normal(size=(*batch, 4)), rng.normal(size=(*batch, 3))
    flat = v.reshape(-1, 3)
    flat[0] = 0
    flat[-1] *= 1e-10
    flat = p.reshape(-1, 4)
    flat[0], flat[-1] = (1, 0, 0, 0), (0, 0, -1, 0)
    return {
        "J": rng.normal(size=(*batch, 6, 7)),
        "e": rng.normal(size=(*batch, 6)),
        "z": rng.normal(size=(*batch, 7)),
        "damping": rng.uniform(0.01, 1, size=batch),
        "p": p / np.linalg.norm(p, axis=-1, keepdims=True),
        "q": q / np.linalg.norm(q, axis=-1, keepdims=True),
        "v": v,
    }


def to_numpy(array: Any) -> np.ndarray:
    return np.asarray(array) if isinstance(array, np.ndarray | np.generic) else np.from_dlpack(array)


@pytest.fixture
def jax() -> Iterator[ModuleType]:
    """JAX with 64-bit floats; the setting is put back afterwards."""
    module = pytest.importorskip("jax", reason="JAX is not installed (it belongs to the extra `fleet`)")
    before = module.config.jax_enable_x64
    module.config.update("jax_enable_x64", True)
    yield module
    module.config.update("jax_enable_x64", before)


def quick_jit(jax: ModuleType) -> Callable[..., Any]:
    """`jax.jit` that spends less on optimising what runs once."""
    return functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})


@pytest.fixture(params=["numpy", "array_api_strict", "jax"])
def xp(request: pytest.FixtureRequest) -> ModuleType:
    if request.param == "jax":
        return request.getfixturevalue("jax").numpy
    return {"numpy": np, "array_api_strict": array_api_strict}[request.param]


# --- the same numbers in every namespace


@pytest.mark.parametrize("batch", [(), (6,), (2, 6)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_strict_namespace_gives_numpys_numbers(name: str, batch: tuple[int, ...]) -> None:
    function, arguments = FUNCTIONS[name]
    values = problem(batch)
    got = function(*(array_api_strict.asarray(values[argument]) for argument in arguments))
    assert got.dtype == array_api_strict.float64
    want = function(*(values[argument] for argument in arguments))
    assert want.dtype == np.float64
    np.testing.assert_allclose(to_numpy(got), want, rtol=1e-11, atol=1e-13)


def test_jax_outside_jit_gives_numpys_numbers(jax: ModuleType) -> None:
    """One function is enough: outside jit JAX compiles operation by operation, which is slow the first time."""
    J, e, damping = (problem((6,))[argument] for argument in ("J", "e", "damping"))
    got = ik.damped(jax.numpy.asarray(J), jax.numpy.asarray(e), jax.numpy.asarray(damping))
    assert isinstance(got, jax.Array)
    np.testing.assert_allclose(to_numpy(got), ik.damped(J, e, damping), rtol=1e-11, atol=1e-13)


def every_function(values: dict[str, Any]) -> dict[str, Any]:
    """All of floor 0 in one function, which JAX compiles in one piece."""
    return {name: function(*(values[key] for key in arguments)) for name, (function, arguments) in FUNCTIONS.items()}


def test_jit_gives_numpys_numbers(jax: ModuleType) -> None:
    values = problem((2, 6))
    got = quick_jit(jax)(every_function)({key: jax.numpy.asarray(value) for key, value in values.items()})
    for name, want in every_function(values).items():
        np.testing.assert_allclose(to_numpy(got[name]), want, rtol=1e-11, atol=1e-13, err_msg=name)


@pytest.mark.parametrize("name", ["damped", "damped_svd", "project", "rotation_error", "log_jacobian"])
def test_vmap_gives_numpys_numbers(name: str, jax: ModuleType) -> None:
    function, arguments = FUNCTIONS[name]
    values = [problem((6,))[argument] for argument in arguments]
    got = quick_jit(jax)(jax.vmap(function))(*(jax.numpy.asarray(value) for value in values))
    np.testing.assert_allclose(to_numpy(got), function(*values), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("traced", ["J", "e", "z", "p"])
def test_jit_over_one_argument_while_the_others_are_constants(traced: str, jax: ModuleType) -> None:
    """Under jit a comparison of constants is traced too: a value check that asks for its truth would raise."""
    values = problem(())
    arrays = {key: jax.numpy.asarray(value) for key, value in values.items()}
    used = {name: entry for name, entry in FUNCTIONS.items() if traced in entry[1]}

    def of_one(x: Any) -> dict[str, Any]:
        given = {**arrays, traced: x}
        return {name: function(*(given[key] for key in arguments)) for name, (function, arguments) in used.items()}

    for name, got in quick_jit(jax)(of_one)(arrays[traced]).items():
        np.testing.assert_allclose(to_numpy(got), every_function(values)[name], rtol=1e-11, atol=1e-13, err_msg=name)


def test_a_plain_zero_is_undamped_under_jit_too(jax: ModuleType) -> None:
    """J is singular, so the solve that serves a positive lambda would answer NaN, or anything."""
    values = problem(())
    values["J"][5] = values["J"][4]

    def undamped(values: dict[str, Any]) -> tuple[Any, ...]:
        J, e, z = values["J"], values["e"], values["z"]
        together = nullspace.damped_with_secondary(J, e, z, 0.0)
        return ik.damped(J, e, 0), nullspace.project(J, z), nullspace.project(J, z, 0.0), together

    traced = quick_jit(jax)(undamped)({key: jax.numpy.asarray(value) for key, value in values.items()})
    for got, want in zip(traced, undamped(values), strict=True):
        np.testing.assert_allclose(to_numpy(got), want, atol=1e-12)
    assert np.abs(values["J"] @ to_numpy(traced[1])).max() < 1e-12


# --- gradients


def central_difference(function: Callable[[np.ndarray], Any], x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        offset = np.zeros_like(x)
        offset[index] = step
        gradient[index] = (function(x + offset) - function(x - offset)) / (2 * step)
    return gradient


def test_gradients_through_damped_are_its_derivative(jax: ModuleType) -> None:
    """At a healthy J, at one with two equal rows, and at one whose singular values are all equal."""
    values = problem(())
    e, weights, J = values["e"], values["z"], values["J"]
    jacobians = np.stack([J, np.vstack([J[:5], J[4]]), np.eye(6, 7)])
    for face in (ik.damped, ik.damped_joint_space):

        def loss(J: Any, e: Any, face: Callable[..., Any] = face) -> Any:
            return (face(J, e, 0.1) * weights).sum()

        got = quick_jit(jax)(jax.vmap(jax.grad(loss), in_axes=(0, None)))(
            jax.numpy.asarray(jacobians), jax.numpy.asarray(e)
        )
        for gradient, J in zip(to_numpy(got), jacobians, strict=True):
            want = central_difference(lambda J, loss=loss: loss(J, e), J)
            np.testing.assert_allclose(gradient, want, rtol=1e-5, atol=1e-6)


def test_the_derivative_of_log_after_exp_is_the_identity(jax: ModuleType) -> None:
    """At the identity too, where a logarithm that is written down plainly gives NaN."""
    v = np.array([0.0, 1e-12, 1e-3, 1.0, 3.0])[:, None] * np.array([2.0, -1.0, 2.0]) / 3
    derivative = jax.vmap(jax.jacobian(lambda v: rotation.quat_log(rotation.quat_exp(v))))
    got = to_numpy(quick_jit(jax)(derivative)(jax.numpy.asarray(v)))
    np.testing.assert_allclose(got, np.tile(np.eye(3), (5, 1, 1)), atol=1e-10)


def test_a_plain_log_has_no_gradient_at_the_identity(jax: ModuleType) -> None:
    jnp = jax.numpy

    def plain(q: Any) -> Any:
        norm = jnp.sqrt(jnp.sum(q[1:] ** 2))
        return jnp.where(norm > 0, 2 * jnp.atan2(norm, q[0]) / norm, 2.0) * q[1:]

    identity = jnp.asarray([1.0, 0.0, 0.0, 0.0])
    assert np.isnan(to_numpy(quick_jit(jax)(jax.jacobian(plain))(identity))).any()
    np.testing.assert_allclose(
        to_numpy(quick_jit(jax)(jax.jacobian(rotation.quat_log))(identity))[:, 1:], 2 * np.eye(3)
    )


def test_the_rotation_error_moves_by_minus_log_jacobian(jax: ModuleType) -> None:
    """The derivative that JAX takes through `rotation_error` is the one that `log_jacobian` writes down."""
    v = np.array([0.0, 0.01, 1.0, 2.5])[:, None] * np.array([2.0, -1.0, 2.0]) / 3

    def derivative(v: Any, current: Any) -> Any:
        target = rotation.quat_multiply(rotation.quat_exp(v), current)
        turned = lambda w: rotation.quat_multiply(rotation.quat_exp(w), current)  # noqa: E731
        return jax.jacobian(lambda w: rotation.rotation_error(target, turned(w)))(0 * v)

    got = quick_jit(jax)(jax.vmap(derivative, in_axes=(0, None)))(
        jax.numpy.asarray(v), jax.numpy.asarray(problem(())["q"])
    )
    np.testing.assert_allclose(to_numpy(got), -rotation.log_jacobian(v), atol=1e-12)


def test_gradients_of_what_has_a_zero_inside_are_finite(jax: ModuleType) -> None:
    def gradients(J: Any, zero: Any) -> Any:
        through_the_default_gain = jax.grad(lambda e: ik.transpose(J, e).sum())(zero)
        at_no_turn = [jax.jacobian(function)(zero[:3]) for function in (rotation.log_jacobian, rotation.quat_exp)]
        return [through_the_default_gain, *at_no_turn]

    for gradient in quick_jit(jax)(gradients)(jax.numpy.asarray(problem(())["J"]), jax.numpy.zeros(6)):
        assert np.isfinite(to_numpy(gradient)).all()


# --- float types, numbers and lists


def with_one_scalar(J: Any, e: Any, z: Any, p: Any, scalar: Any) -> list[Any]:
    """Every place where a plain number may stand beside arrays."""
    return [
        ik.damped(J, e, scalar),
        ik.damped_svd(J, e, scalar),
        ik.damped_joint_space(J, e, scalar),
        ik.truncated(J, e, scalar),
        ik.transpose(J, e, scalar),
        ik.pseudo_inverse(J, e, rank_tolerance=float(scalar)),
        ik.adaptive_damping(J, scalar, scalar),
        ik.selectively_damped(J, e, gamma_max=scalar),
        nullspace.project(J, z, scalar),
        nullspace.posture(z, z, scalar),
        nullspace.damped_with_secondary(J, e, z, scalar),
        rotation.rotation_error(p, [1.0, 0.0, 0.0, 0.0]),
        rotation.rotation_error([1.0, 0.0, 0.0, 0.0], p),
    ]


SCALARS = (np.float64(0.1), np.float32(0.1), np.int64(1), 0.1, 1)


def float32_problem(namespace: ModuleType, batch: tuple[int, ...]) -> dict[str, Any]:
    return {key: namespace.asarray(value.astype(np.float32)) for key, value in problem(batch).items()}


@pytest.mark.parametrize("namespace", [np, array_api_strict])
def test_float32_stays_float32(namespace: ModuleType) -> None:
    arrays = float32_problem(namespace, (3,))
    want = every_function(problem((3,)))
    for name, got in every_function(arrays).items():
        assert got.dtype == namespace.float32, name
        if name != "selectively_damped":  # its bounds amplify a rounding where a direction is about to be clamped
            np.testing.assert_allclose(to_numpy(got), want[name], rtol=2e-3, atol=2e-3, err_msg=name)


@pytest.mark.parametrize("namespace", [np, array_api_strict])
def test_a_number_beside_float32_arrays_does_not_promote(namespace: ModuleType) -> None:
    arrays = float32_problem(namespace, ())
    for scalar in SCALARS:
        for answer in with_one_scalar(*(arrays[key] for key in ("J", "e", "z", "p")), scalar):
            assert answer.dtype == namespace.float32


def test_float32_stays_float32_in_jax_while_64_bits_are_on(jax: ModuleType) -> None:
    arrays = float32_problem(jax.numpy, (3,))
    for name, shape in jax.eval_shape(every_function, arrays).items():
        assert shape.dtype == np.float32, name
    some = [arrays[key] for key in ("J", "e", "z", "p")]
    for scalar in SCALARS[:2]:
        for shape in jax.eval_shape(lambda *given, scalar=scalar: with_one_scalar(*given, scalar), *some):
            assert shape.dtype == np.float32


@pytest.mark.parametrize("namespace", [np, array_api_strict])
def test_lists_and_whole_numbers_are_accepted(namespace: ModuleType) -> None:
    asarray = namespace.asarray
    J, e = [[1, 0, 2], [0, 1, 1]], [1, 2]
    want = ik.damped(np.array(J, dtype=float), np.array(e, dtype=float), 1.0)
    for answer in (ik.damped(J, e, 1), ik.damped(asarray(J), asarray(e), 1), ik.damped(asarray(J), e, [1])[0, ...]):
        np.testing.assert_allclose(to_numpy(answer), want, rtol=1e-14)
    np.testing.assert_array_equal(to_numpy(rotation.quat_log(asarray([0, 1, 0, 0]))), [np.pi, 0, 0])
    np.testing.assert_array_equal(rotation.quat_multiply([0, 1, 0, 0], [0, 0, 1, 0]), [0, 0, 0, 1])
    one_list = rotation.rotation_error(asarray([0.0, 1.0, 0.0, 0.0]), [1, 0, 0, 0])
    np.testing.assert_array_equal(to_numpy(one_list), [np.pi, 0, 0])


# --- what is refused, in every namespace


def test_bad_values_and_shapes_are_refused_everywhere(xp: ModuleType) -> None:
    values = problem(())
    J, e, q = (xp.asarray(values[key]) for key in ("J", "e", "q"))
    for call, text in (
        (lambda: ik.damped(J, e * xp.asarray(float("nan")), 0.1), "error must be finite"),
        (lambda: ik.damped(J * xp.asarray(float("inf")), e, 0.1), "jacobian must be finite"),
        (lambda: ik.damped(J, e, -0.1), "damping must not be negative"),
        (lambda: ik.damped(J, e, float("nan")), "damping must be finite"),
        (lambda: ik.damped(J, q, 0.1), "error must have shape"),
        (lambda: ik.damped(J, e, [[0.1, 0.2], [0.3]]), "inhomogeneous"),
        (lambda: ik.damped(xp.stack([J, J]), xp.stack([e, e, e]), 0.1), "leading axes do not broadcast"),
        (lambda: ik.damped(xp.stack([J, J]), xp.stack([e, e]), [0.1, 0.2, 0.3]), "leading axes do not broadcast"),
        (lambda: rotation.quat_log(2 * q), "norm one"),
        (lambda: rotation.quat_log(e), "quaternion must have shape"),
    ):
        with pytest.raises(ValueError, match=text):
            call()
