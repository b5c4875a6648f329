"""The repository says nothing that only one machine understands, and leaves nothing unfinished."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MADE = {
    ".git",
    ".venv",
    "_build",
    "dist",
    "node_modules",
    "__pycache__",
    ".pytest_cache",
    ".ruff_cache",
    ".mypy_cache",
    ".hypothesis",
    ".ipynb_checkpoints",
}
WRITTEN = {".py", ".md", ".ipynb", ".toml", ".txt", ".yml", ".xml", ".css", ".svg", ".bib", ".csv", ".cff", ""}
TEXT = WRITTEN | {".html", ".js", ".mjs"}

# Put together from halves, so that this file does not hold what it looks for.
FORBIDDEN = {
    "an unfinished mark": r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX)\b",
    "a path of one machine": r"(?<![\w.~])/(?:work|home|root|tmp|Users)/[A-Za-z]",
    "a package registry's host": r"(?:py" r"pi\.org|python" r"hosted|npm" r"js\.org|deb\.deb" r"ian\.org)",
}  # fmt: skip


def files() -> Iterator[Path]:
    for file in sorted(ROOT.rglob("*")):
        if file.is_file() and file.suffix in TEXT and not MADE & set(file.relative_to(ROOT).parts):
            yield file


def findings(text: str) -> list[str]:
    return [f"{what}: {found[0]}" for what, pattern in FORBIDDEN.items() for found in re.finditer(pattern, text)]


def test_nothing_unfinished_and_nothing_of_one_machine() -> None:
    found = {
        str(file.relative_to(ROOT)): findings(file.read_text(encoding="utf-8", errors="replace")) for file in files()
    }
    assert {name: list_ for name, list_ in found.items() if list_} == {}


@pytest.mark.parametrize(
    "line",
    ["# TO" "DO: later", "open('/ho" "me/somebody/q.csv')", "cd /wo" "rk/main", "--index-url https://py" "pi.org/"],
)  # fmt: skip
def test_such_a_line_is_seen(line: str) -> None:
    assert findings(line) != []


@pytest.mark.parametrize(
    "line", ["the roots of a polynomial", "the home/away keyframes", "../shared/reference", "a to-do list"]
)
def test_an_innocent_line_is_left_alone(line: str) -> None:
    assert findings(line) == []
