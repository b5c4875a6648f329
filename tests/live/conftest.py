"""The page's own modules, run in Node: what the tests of the live page ask."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.needs import cannot

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "book" / "live"

Ask = Callable[..., Any]


class PageError(Exception):
    """What a module of the page threw."""


@pytest.fixture(scope="session")
def ask() -> Iterator[Ask]:
    """Ask the page's modules: `ask("path", distance=0.7)`, or many at once, `ask([("path", {...}), ...])`."""
    node = shutil.which("node") or shutil.which("node", path=Path(sys.executable).parent)
    if node is None:
        cannot("the page's modules run in Node, which this machine does not have")
    if not (PAGE / "node_modules" / "@mujoco").is_dir():
        cannot("the page's packages are not installed (book/live/node_modules); run npm ci in book/live")
    with subprocess.Popen(
        [node, str(HERE / "node_side.mjs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        requests, lines = process.stdin, process.stdout

        def answers(tasks: str | list[tuple[str, dict]], **request: Any) -> Any:
            many = [(tasks, request)] if isinstance(tasks, str) else tasks
            sent = [{"task": task, **arguments} for task, arguments in many]
            requests.write(json.dumps(sent, allow_nan=False) + "\n")
            requests.flush()
            # MuJoCo prints its warnings on the same stream.
            line = next((line for line in lines if line.startswith('{"replies":')), None)
            assert line is not None, "the Node process ended; what it said stands on the error stream"
            replies = json.loads(line)["replies"]
            for reply in replies:
                if "error" in reply:
                    raise PageError(reply["error"])
            values = [reply["answer"] for reply in replies]
            return values[0] if isinstance(tasks, str) else values

        yield answers
        requests.close()
