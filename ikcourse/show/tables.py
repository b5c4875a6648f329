"""Tables in a page: what a cell computed, set like the tables of the text."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.display import HTML


def table(header: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> HTML:
    """Rows as a table for a notebook or page; a column is set right where all of its cells are numbers.

    Args:
        header: the columns' names, units in brackets.
        rows: the cells, each shown as `str` writes it: format numbers before.
        caption: what the table says, above it.

    Raises:
        ValueError: a row has more or fewer cells than the header.
    """
    from IPython.display import HTML

    cells = [[str(cell) for cell in row] for row in rows]
    for row in cells:
        if len(row) != len(header):
            raise ValueError(f"a row needs {len(header)} cells, one for each of {list(header)}; got {row}")
    right = [all(_is_number(row[column]) for row in cells) for column in range(len(header))]
    lines = ['<table class="table">']
    if caption:
        lines.append(f"<caption>{html.escape(caption)}</caption>")
    lines.append(f"<thead><tr>{_cells('th', header, right)}</tr></thead><tbody>")
    lines += [f"<tr>{_cells('td', row, right)}</tr>" for row in cells]
    return HTML("\n".join([*lines, "</tbody></table>"]))


def _cells(tag: str, row: Sequence[str], right: Sequence[bool]) -> str:
    styles = ["text-align:right" if number else "text-align:left" for number in right]
    if tag == "td":  # a number is never broken over two lines, a name may be
        styles = [
            f"{style};white-space:nowrap" if number else style for style, number in zip(styles, right, strict=True)
        ]
    return "".join(
        f'<{tag} style="{style}">{html.escape(cell)}</{tag}>' for cell, style in zip(row, styles, strict=True)
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "").replace("−", "-"))
    except ValueError:
        return False
    return True
