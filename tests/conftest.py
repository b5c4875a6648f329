"""What several test files need: repeatable examples, Jacobians of planted singular values, the reference figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import ikcourse  # noqa: F401  before any test imports mujoco: where there is no display it chooses EGL

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=100, database=None)
settings.load_profile("repeatable")

REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "reference"


def planted_problem(
    rng: np.random.Generator, shape: tuple[int, int], sigma: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Jacobians (..., m, n) with the singular values sigma (..., min(m, n)), and errors (..., m).

    Every left singular direction holds a part of the error of size 0.3 to 1, so that no answer is small by chance.
    """
    (m, n), batch, k = shape, sigma.shape[:-1], min(shape)
    left = np.linalg.qr(rng.normal(size=(*batch, m, m)))[0]
    right = np.linalg.qr(rng.normal(size=(*batch, n, n)))[0][..., :k]
    parts = rng.uniform(0.3, 1, size=(*batch, m)) * rng.choice([-1, 1], size=(*batch, m))
    jacobian = (left[..., :k] * sigma[..., None, :]) @ np.swapaxes(right, -1, -2)
    return jacobian, (left @ parts[..., None])[..., 0]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260)


@pytest.fixture(name="planted_problem")
def planted_problem_fixture() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    return planted_problem


@pytest.fixture(scope="session")
def newton_cases() -> dict:
    """The single steps that Newton's differential-IK controller answered, keyed as in the reference file."""
    path = REFERENCE / "newton_cases.json"
    if not path.is_file():
        pytest.skip("the reference figures (../shared/reference) do not stand beside this checkout")
    return json.loads(path.read_text())
