"""The README is true: its example runs, and its commands exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_runs(tmp_path: Path) -> None:
    examples = re.findall(r"```python\n(.*?)```", README, re.S)
    assert examples
    for example in examples:
        done = subprocess.run(
            [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr


def test_every_command_exists() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    named = set(re.findall(r"\bmake ([a-z]+)\b(?=`|  )", README))
    assert {"book", "test"} <= named <= set(targets)
    told = subprocess.run([sys.executable, "-m", "ikcourse", "--help"], capture_output=True, text=True, timeout=60)
    for command in set(re.findall(r"python -m ikcourse (\w+)", README)):
        assert command in told.stdout


def test_every_file_that_it_links_exists() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
