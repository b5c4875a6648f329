"""What every chapter keeps: no stored outputs, sound metadata, and no result typed by hand.

A number in prose is either a setting or a result. A setting stands in the code: in a cell of the same page, or among
the package's own constants. A result comes through `glue` or a cell's output; where a rounded value must be spoken of
in a sentence, an `assert` cell of the page carries it. So the rule: every number in the text that has a decimal point,
an exponent, a unit or more than two significant digits has its equal in the code. Counts of one or two digits, years,
versions, issue numbers, right angles, and what stands in code fences, roles and links are left alone.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted(file for file in (ROOT / "book").rglob("*.ipynb") if ".ipynb_checkpoints" not in file.parts)
PAGES = sorted([*CHAPTERS, *(file for file in (ROOT / "book").rglob("*.md") if "node_modules" not in file.parts)])

# What is not the author's sentence.
CODE_FENCE = re.compile(
    r"^(`{3,}|~{3,})(?!\{)[^\n]*\n.*?^\1\s*$|^(`{3,})\{(code|code-block|code-cell|bibliography|raw|toctree)\}.*?^\2\s*$",
    re.M | re.S,
)
LEFT_ALONE = re.compile(
    r"^:[\w-]+:.*$"  # options of a directive
    r"|^\(.*\)=$"  # a label
    r"|\{(?!math)[\w:.+-]+\}`[^`]*`"  # roles: glue, citations, references
    r"|\]\([^)]*\)|<https?:[^>]*>|https?://\S+"  # targets of links
    r"|\b\w+\#\d+|\#\d+|\bPR ?\d+"  # issues and pull requests
    r"|\b\d+(?:\.\d+){2,}\b"  # versions
    r"|\b\d+(?:\.\d+)?(?:ex|em|pt|mu)\b"  # TeX's lengths
    r"|\b(?:Python|MuJoCo|NumPy|SciPy|JAX|Newton|mink|Debian|Ubuntu|version) ?\d+(?:\.\d+)*\+?"
    r"|\b[Ee]q(?:uations?|s?\.) ?\(?\d+(?:\.\d+)*\)?|\b(?:Fig\.|Figure|Table|Chapter|Section|section) ?\d+(?:\.\d+)*",
    re.M,
)
NUMBER = re.compile(
    r"(?<![\w.^_{\\])(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.]*\d)"
    r"(?P<power>\s*(?:\\times|×|\\cdot)\s*10\s*\^\s*\{?\s*(?P<exponent>[+\-−]?\d+)\}?)?"
    r"(?:\s|\\,|~|\\ |\\;|\\text\{|\\mathrm\{|\\rm )*"
    r"(?P<unit>(?:%|\\%|°|µs|μs|us|ms|mm|cm|m/s|rad/s|rad|degrees?|Hz|kHz|N m|times|x|×|metres?|seconds?|s|m)"
    r"(?![\w-]))?"
)
SCALES = {"%": 1e-2, "\\%": 1e-2, "µs": 1e-6, "μs": 1e-6, "us": 1e-6, "ms": 1e-3, "mm": 1e-3, "cm": 1e-2, "kHz": 1e3}


def significant_digits(number: str) -> int:
    digits = re.split("[eE]", number)[0].replace(".", "").lstrip("0")
    return len(digits if "." in number else digits.rstrip("0"))


def numbers_of(source: str) -> set[float]:
    """Every number written in Python code; a line that only a notebook knows counts for nothing."""
    kept = "\n".join(line for line in source.splitlines() if not line.lstrip().startswith(("%", "!")))
    return {
        float(node.value)
        for node in ast.walk(ast.parse(kept))
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
    }


@cache
def numbers_of_the_package() -> frozenset[float]:
    return frozenset().union(
        *(numbers_of(file.read_text(encoding="utf-8")) for file in (ROOT / "ikcourse").glob("*.py"))
    )


def typed_by_hand(text: str, known: Iterable[float]) -> list[str]:
    """The numbers of a Markdown text that must have their equal in the code, and have none."""
    prose = LEFT_ALONE.sub(" ", CODE_FENCE.sub(" ", text))
    values, found = list(known), []
    for match in NUMBER.finditer(prose):
        number, unit = re.match(r"[\d.]+(?:[eE][+-]?\d+)?", match[0])[0], match["unit"]  # type: ignore[index]
        value = float(number)
        if match["power"]:
            value *= 10.0 ** int(match["exponent"].replace("−", "-"))
        whole = number.isdigit() and not match["power"]
        if whole and not unit and (significant_digits(number) <= 2 or 1900 <= value < 2100):
            continue
        if whole and unit in ("°", "degree", "degrees") and value % 45 == 0:
            continue
        meant = (value, value * SCALES.get(unit or "", 1.0))
        if not any(abs(m - v) <= 1e-9 * abs(v) for m in meant for v in values):
            found.append(match[0].strip())
    return found


def read(chapter: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(chapter.read_text(encoding="utf-8"))
    return notebook


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def texts_and_code(page: Path) -> tuple[list[str], set[float]]:
    """What a page says in words (captions too), and the numbers that its own cells hold."""
    if page.suffix == ".md":
        return [page.read_text(encoding="utf-8")], set()
    texts, code = [], set()
    for cell in read(page)["cells"]:
        if cell["cell_type"] == "markdown":
            texts.append(source(cell))
            continue
        code |= numbers_of(source(cell))
        drawn = cell["metadata"].get("mystnb", {})
        texts += [drawn.get("figure", {}).get("caption", ""), drawn.get("image", {}).get("alt", "")]
    return texts, code


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_result_is_typed_by_hand(page: Path) -> None:
    texts, code = texts_and_code(page)
    typed = [number for text in texts for number in typed_by_hand(text, code | numbers_of_the_package())]
    assert not typed, f"{page.name}: bring these in through glue or a cell, or let an assert cell carry them: {typed}"


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_a_chapter_stores_no_outputs(chapter: Path) -> None:
    stored = [
        source(cell)[:60]
        for cell in read(chapter)["cells"]
        if cell["cell_type"] == "code" and (cell["outputs"] or cell["execution_count"] is not None)
    ]
    assert not stored, "clear the outputs; the build makes them anew"


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_a_chapter_runs_on_the_readers_own_kernel(chapter: Path) -> None:
    notebook = read(chapter)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    names = [cell["id"] for cell in notebook["cells"]]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_a_cell_that_draws_says_what_it_draws(chapter: Path) -> None:
    silent = []
    for cell in read(chapter)["cells"]:
        code = source(cell)
        if cell["cell_type"] != "code" or not re.search(r"\bplt\.(?:subplots|figure|subplot_mosaic)\(", code):
            continue
        drawn = cell["metadata"].get("mystnb", {})
        if len(drawn.get("image", {}).get("alt", "")) < 15 or not drawn.get("figure", {}).get("caption"):
            silent.append(code[:60])
    assert not silent, f"alt text and a caption are missing at {silent}"


@pytest.mark.parametrize(
    "sentence",
    [
        "The arm drifts by 2.559 rad.",
        "The tool stays 28 cm away.",
        "It is 17 times slower.",
        "The error falls to $3.1 \\times 10^{-9}$.",
        "The error falls to 3.1e-9.",
        "It clips 1286 steps.",
        "The drift is $2.559\\,\\mathrm{rad}$, at `0.281`.",
        "| healthy | 0.0417 |",
        "92 % of the error is gone.",
        "```{exercise}\n:label: ex-a\nShow that the drift is 2.56.\n```",
        "2.559 rad ({cite:t}`wampler1986`).",
    ],
)
def test_a_typed_result_is_seen(sentence: str) -> None:
    assert typed_by_hand(sentence, {0.01, 0.7, 6.0}) != []


@pytest.mark.parametrize(
    "sentence",
    [
        "Seven joints and 6 task rows, 2 links, 1000 random configurations.",
        "The damping is 0.01, the reach 0.70 m or 70 cm, after {cite:t}`wampler1986` in 1986.",
        "The drift is {glue:text}`drift:.3f` rad, and $1 / (2 \\lambda)$ bounds the gain.",
        "```python\nassert drift == 2.559\n```",
        "IsaacLab#1366 and PR 591 saw it in mink 1.3.0 and Python 3.11; see [there](https://example.org/12.345).",
        "Equation (1.12), Figure 2.14 and a turn by 90 degrees or 180°.",
        "$J^\\top (J J^\\top + \\lambda^2 I)^{-1} e$, $q_{12}$, $\\mathbb{R}^{6 \\times 7}$ and $10^{-2}$.",
        "$$\na \\\\[1.2ex] b \\hspace{2.75em}\n$$",
        ":::{figure} assets/x.svg\n:width: 12.5%\nA line.\n:::",
    ],
)
def test_a_setting_or_a_count_is_no_result(sentence: str) -> None:
    assert typed_by_hand(sentence, {0.01, 0.7, 6.0}) == []
