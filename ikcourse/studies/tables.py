"""The tables of `results/`: a study's rows are a frozen dataclass, whose fields are the columns.

A column is a `setting` of the run or was `measured` in it; units stand in the names. Rows are printed, written, read
and compared here, for every study alike.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import Field, field, fields
from pathlib import Path
from typing import Any, get_type_hints

from ikcourse.studies.ends import EndState


def setting(form: str = "{}") -> Any:
    """A column that says what was run; all settings together name the row."""
    return field(metadata={"format": form, "setting": True})


def measured(form: str = "{}", tolerance: float = 0.0) -> Any:
    """A column that says what came of it; two computations of a run that did not come home may differ by tolerance.

    A folded arm rests against the floor and itself, which magnifies the last bit of rounding into the third digit.
    """
    return field(metadata={"format": form, "setting": False, "tolerance": tolerance})


def scientific(value: float) -> str:
    """A setting as people write it: 1e-03, and 0.0015 where one digit does not say it."""
    short = f"{value:.0e}"
    return short if float(short) == value else f"{value:g}"


def span(values: Sequence[float], form: str) -> str:
    """The least and the greatest value, once where they read alike."""
    return " to ".join(dict.fromkeys((format(min(values), form), format(max(values), form))))


def columns(row: Any) -> list[Field[Any]]:
    """The columns of a row or of its type: the settings, then what was measured."""
    return sorted(fields(row), key=lambda column: not column.metadata["setting"])


def header(row: Any) -> list[str]:
    """The names of the columns."""
    return [column.name for column in columns(row)]


def printed(row: Any) -> list[str]:
    """The values as they are written, one a column."""
    return [_printed(column.metadata["format"], getattr(row, column.name)) for column in columns(row)]


def _printed(form: str, value: object) -> str:
    return scientific(value) if form == "e" and isinstance(value, float) else form.format(value)


def key(row: Any) -> tuple[str, ...]:
    """The row's settings as they are written."""
    settings = [column for column in columns(row) if column.metadata["setting"]]
    return tuple(printed(row)[: len(settings)])


def table(rows: Sequence[Any]) -> str:
    """The rows as text, in columns."""
    if not rows:
        return "no rows"
    lines = [header(rows[0]), *map(printed, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def markdown(rows: Sequence[Any]) -> list[str]:
    """The rows as the lines of a Markdown table."""
    names = header(rows[0])
    lines = [names, ["---:"] * len(names), *map(printed, rows)]
    return ["| " + " | ".join(line) + " |" for line in lines]


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A file to write beside this one, which it replaces once it is whole: an interruption leaves the old one."""
    unfinished = file.with_name(f"{file.stem}.{os.getpid()}.tmp{file.suffix}")
    try:
        yield unfinished
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)


def require_place(file: Path) -> None:
    """Raise OSError, before hours of computing, where the file could not be written after them; leave nothing there."""
    above = next(folder for folder in file.absolute().parents if folder.exists())
    if not above.is_dir():
        raise NotADirectoryError(f"{file} cannot be written: {above} is a file")
    if not os.access(above, os.W_OK | os.X_OK):
        raise PermissionError(f"{file} cannot be written: {above} may not be written in")


def write(rows: Sequence[Any], file: Path) -> None:
    """Write the rows as CSV; ValueError where there is none."""
    if not rows:
        raise ValueError(f"there are no rows to write to {file}")
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as unfinished, unfinished.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header(rows[0]))
        writer.writerows(map(printed, rows))


def update(rows: Sequence[Any], file: Path) -> None:
    """Write the rows in place of those with the same settings, and keep the file's others, such as another model's."""
    if not rows:
        raise ValueError(f"there are no rows to write to {file}")
    kept = read(type(rows[0]), file) if file.exists() else []
    fresh = {key(row): row for row in rows}
    merged = [fresh.pop(key(row), row) for row in kept]
    write([*merged, *fresh.values()], file)


def read(row: type, file: Path) -> list[Any]:
    """Read a table that `write` wrote.

    Raises:
        ValueError: the file holds another table.
    """
    kinds = get_type_hints(row)
    with file.open(newline="", encoding="utf-8") as stream:
        lines = csv.DictReader(stream)
        if lines.fieldnames != header(row):
            raise ValueError(f"{file} must have the columns {header(row)}; it has {lines.fieldnames}")
        try:
            return [row(**{name: _value(kinds[name], text) for name, text in line.items()}) for line in lines]
        except (KeyError, TypeError, ValueError, csv.Error) as error:  # a cell too many, too few, or of another kind
            raise ValueError(f"{file}, line {lines.line_num}: {error}") from None


def _value(kind: Any, text: str) -> Any:
    if kind is bool:
        return {"True": True, "False": False}[text]
    return kind(text)


def agree(a: Any, b: Any) -> bool:
    """Whether two rows are of the same run: every printed digit where the arm came home, else within the tolerances."""
    if b is None or key(a) != key(b):
        return False
    home = EndState.HEALTHY in (getattr(a, "end_state", None), getattr(b, "end_state", None))
    for column in columns(a):
        if column.metadata["setting"]:
            continue
        tolerance = 0.0 if home else column.metadata["tolerance"]
        mine, other = getattr(a, column.name), getattr(b, column.name)
        if tolerance:
            if not abs(mine - other) <= tolerance:
                return False
        elif _printed(column.metadata["format"], mine) != _printed(column.metadata["format"], other):
            return False
    return True
