"""What the reference documents, and which chapter's code uses it: read from both, never typed by hand."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import ikcourse

SPELLINGS = {f"ikcourse.{room}.": f"{room}." for room in ("check", "rotation", "show", "studies")} | {
    "ikcourse.": "ik."
}
"""How the book imports the package: `import ikcourse as ik`, `from ikcourse import check, show`."""


def spelled(name: str) -> str:
    """A full name as the chapters write it: ikcourse.damped is ik.damped."""
    for full, short in SPELLINGS.items():
        if name.startswith(full):
            return short + name.removeprefix(full)
    return name


def names_of(module: str) -> list[str]:
    """The full names that the reference documents under a module, in the order of its source; each under one alone."""
    return [name for name in _candidates(module) if name in documented()]


def _candidates(module: str) -> list[str]:
    """What a module may document.

    It is what `ikcourse` exports of it; of a package, what that exports itself; and of a module whose names are reached
    through it (`ikcourse.rotation.quat_log`), its public functions and classes.
    """
    room = importlib.import_module(module)
    if room is not ikcourse and hasattr(room, "__all__"):
        return [f"{module}.{name}" for name in room.__all__ if not inspect.ismodule(getattr(room, name))]
    own = [
        name
        for name, value in vars(room).items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == module
    ]
    exported = [f"ikcourse.{name}" for name in own if getattr(ikcourse, name, None) is getattr(room, name)]
    return exported or [f"{module}.{name}" for name in own]


def rooms() -> list[str]:
    """The modules that the pages of the reference name."""
    pages = sorted((Path(__file__).resolve().parents[1] / "book" / "reference").glob("*.md"))
    return re.findall(r"^\.\. room:: (\S+)$", "\n".join(page.read_text(encoding="utf-8") for page in pages), re.M)


@cache
def documented() -> dict[str, Any]:
    """Every name that the reference documents, and what it names; of two names for one thing, the shorter."""
    names = {name for module in rooms() for name in _candidates(module)}
    things: dict[int, str] = {}
    for name in sorted(names, key=lambda name: (name.count("."), name)):
        things.setdefault(id(value_of(name)), name)
    return {name: value_of(name) for name in things.values()}


def value_of(name: str) -> Any:
    """What a dotted name stands for; AttributeError where it stands for nothing."""
    parts = name.split(".")
    value: Any = importlib.import_module(parts[0])
    for depth, part in enumerate(parts[1:], 2):
        if isinstance(value, ModuleType) and not hasattr(value, part):
            try:
                importlib.import_module(".".join(parts[:depth]))
            except ModuleNotFoundError:
                raise AttributeError(f"{name} does not exist") from None
        value = getattr(value, part)
    return value


def documented_name(dotted: str) -> str | None:
    """The documented name that a dotted name leads to, by whatever way: ikcourse.inverse.damped is ikcourse.damped."""
    by_identity = {id(value): name for name, value in documented().items()}
    parts, found = dotted.split("."), None
    for depth in range(2, len(parts) + 1):
        try:
            value = value_of(".".join(parts[:depth]))
        except AttributeError:
            break
        found = by_identity.get(id(value), found)
    return found


def used_in(code: str) -> list[str]:
    """The documented names that a chapter's code uses, in the order in which they first appear."""
    try:
        tree = ast.parse("\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in code.splitlines()))
    except SyntaxError:  # running the chapter reports it
        return []
    meant: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                meant[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            meant.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    found: dict[str, tuple[int, int]] = {}
    for node, dotted in _dotted_names(tree):
        head, _, rest = dotted.partition(".")
        full = ".".join(filter(None, (meant.get(head, ""), rest)))
        if full.startswith("ikcourse.") and (name := documented_name(full)):
            place = (node.lineno, node.col_offset)
            found[name] = min(found.get(name, place), place)
    return sorted(found, key=lambda name: found[name])


def _dotted_names(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Every `a` and `a.b.c` of the code (and, beside `a.b.c`, the `a.b` inside it)."""
    for node in ast.walk(tree):
        parts, inner = [], node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(node, ast.Attribute | ast.Name) and isinstance(inner, ast.Name):
            yield node, ".".join([inner.id, *reversed(parts)])


def used_in_notebook(file: Path) -> list[str]:
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return used_in("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"))


def short_title(file: Path) -> str:
    """A chapter's title up to its colon."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    heading = re.search(r"^# (.+)$", text, re.M)
    return heading[1].split(": ")[0].strip() if heading else file.stem
