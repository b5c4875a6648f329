"""What a test needs and a machine may not have."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def cannot(reason: str) -> NoReturn:
    """Skip where a reader runs the tests, fail in CI: nobody reads what a machine skipped."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
