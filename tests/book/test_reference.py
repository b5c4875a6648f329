"""The reference has every public name once, and the chapters and the reference know each other."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from bs4 import BeautifulSoup

import ikcourse
from ikcourse import check, show

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ci"))

from book_docstrings import after_napoleon, before_napoleon, tidy_signature, typeset  # noqa: E402
from book_links import mentioned  # noqa: E402
from book_uses import documented, documented_name, names_of, rooms, spelled, used_in, used_in_notebook  # noqa: E402
from build_book import chapters  # noqa: E402

PAGES = ROOT / "_build" / "html" / "book"


def anchors_due(packages: Iterable[ModuleType] = (ikcourse, check, show)) -> list[str]:
    """The anchor of every public name: a module has one of its own kind."""
    return [
        f"module-{value.__name__}" if isinstance(value, ModuleType) else f"{package.__name__}.{name}"
        for package in packages
        for name in package.__all__
        for value in [getattr(package, name)]
    ]


def not_once(due: Iterable[str], pages: Iterable[BeautifulSoup]) -> dict[str, int]:
    """The anchors that the pages do not have exactly once, and how often they have them."""
    found = Counter(str(tag["id"]) for page in pages for tag in page.find_all(id=True))
    return {anchor: found[anchor] for anchor in due if found[anchor] != 1}


@cache
def page(name: str) -> BeautifulSoup:
    return BeautifulSoup((PAGES / f"{name}.html").read_text(encoding="utf-8"), "html.parser")


@pytest.fixture
def reference() -> list[BeautifulSoup]:
    if not (PAGES / "reference").is_dir():
        pytest.skip("no built book here: `make book` first; `make test` builds it before these tests")
    return [page(f"reference/{file.stem}") for file in sorted((ROOT / "book" / "reference").glob("*.md"))]


def test_every_public_name_has_one_entry(reference: list[BeautifulSoup]) -> None:
    assert not_once(anchors_due(), reference) == {}


def test_every_public_name_has_its_room() -> None:
    listed = Counter(name for room in rooms() for name in names_of(room))
    assert [name for name, times in listed.items() if times > 1] == []
    assert {anchor for anchor in anchors_due() if not anchor.startswith("module-")} <= set(listed)


def test_a_public_name_without_an_entry_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = BeautifulSoup("".join(f"<dt id='{anchor}'></dt>" for anchor in anchors_due()), "html.parser")
    assert not_once(anchors_due(), [sound]) == {}
    monkeypatch.setattr(ikcourse, "unheard", lambda: None, raising=False)
    monkeypatch.setattr(ikcourse, "__all__", [*ikcourse.__all__, "unheard"])
    assert not_once(anchors_due(), [sound]) == {"ikcourse.unheard": 0}


def test_an_entry_that_stands_twice_is_seen() -> None:
    assert not_once(["ikcourse.damped"], [BeautifulSoup("<p id='ikcourse.damped'>", "html.parser")] * 2) == {
        "ikcourse.damped": 2
    }


def links_of(entry: str, soup: BeautifulSoup) -> set[str]:
    """The chapters that an entry says it is used in."""
    links = soup.select(f'dt[id="{entry}"] + dd > dl.field-list > dd > p > a:has(span.doc)')
    return {Path(str(link["href"])).stem for link in links}


def test_a_chapter_and_the_reference_link_each_other(reference: list[BeautifulSoup]) -> None:
    used_by: dict[str, set[str]] = {}
    for chapter in chapters(ROOT):
        used = used_in_notebook(chapter)
        listed = [str(link["href"]).split("#")[1] for link in page(chapter.stem).select(".used-here a[href]")]
        assert listed == sorted(used, key=lambda name: spelled(name).casefold())
        for name in used:
            used_by.setdefault(name, set()).add(chapter.stem)
    assert used_by
    told = {name: links for name in documented() for soup in reference if (links := links_of(name, soup))}
    assert told == used_by


@pytest.mark.parametrize("chapter", chapters(ROOT), ids=lambda chapter: chapter.stem)
def test_what_a_chapter_speaks_of_is_linked(chapter: Path, reference: list[BeautifulSoup]) -> None:
    text = BeautifulSoup(str(page(chapter.stem).select_one("article")), "html.parser")
    for line in text.select(".used-here"):
        line.decompose()
    links = Counter(str(link["href"]).partition("#")[2] for link in text.select("a:has(> code)"))
    for code in text.select("p > code, li > code, td > code"):
        assert mentioned(code.text) in (None, *links)
    assert [name for name, times in links.items() if name.startswith("ikcourse.") and times > 1] == []


def test_no_page_shows_a_path_of_this_machine(reference: list[BeautifulSoup]) -> None:
    assert [soup.title for soup in reference if str(ROOT) in str(soup) or str(Path.home()) in soup.text] == []


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import ikcourse as ik\nik.damped(J, e, 0.1)", ["ikcourse.damped"]),
        ("import ikcourse as ik\nik.inverse.damped(J, e, 0.1)", ["ikcourse.damped"]),
        ("import ikcourse\nikcourse.damped", ["ikcourse.damped"]),
        ("from ikcourse import check as c, show\nc.dls(f)\nshow.table", ["ikcourse.check.dls", "ikcourse.show.table"]),
        ("from ikcourse.inverse import damped\ndamped", ["ikcourse.damped"]),
        ("import ikcourse as ik\nik.Arm.from_model(m, 'tool')", ["ikcourse.Arm"]),
        ("import ikcourse as ik\nik.track(ik.panda())", ["ikcourse.track", "ikcourse.panda"]),
        ("%matplotlib inline\nimport ikcourse as ik\nik.leak", ["ikcourse.leak"]),
        ("import numpy as ik\nik.damped", []),
        ("import ikcourse as ik\nik.inverse._damped_filter, ik.laws.lapack", []),
        ("from ikcourse import damped", []),
        ("import ikcourse as ik\nik.damped(", []),
    ],
)
def test_what_a_chapter_uses_is_read_from_its_code(code: str, names: list[str]) -> None:
    assert used_in(code) == names


def resolve(code: str) -> str | None:
    return documented_name(f"ikcourse.{code}")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("argmin ||J q||", "argmin ‖J q‖"),
        ("    sigma: sigma >= 0, and |x|", "    sigma: σ ≥ 0, and \\|x\\|"),
        ("e - J z, at -1", "e − J z, at −1"),
        ("gain * e, and a*b", "gain · e, and a\\*b"),
        ("    lambda: is lambda", "    lambda: is λ"),
        ("as `damped`", "as :py:obj:`damped <ikcourse.damped>`"),
        ("as `lambda * |x|`", "as ``lambda * |x|``"),
        ('"scale" or "clip"', '``"scale"`` or ``"clip"``'),
    ],
)
def test_a_docstring_is_typeset(written: str, shown: str) -> None:
    assert typeset(written, resolve) == shown


def processed(docstring: str, thing: object = ikcourse.damped) -> list[str]:
    lines = docstring.splitlines()
    before_napoleon("ikcourse.damped", thing, lines)
    after_napoleon(lines, frozenset({"wampler1986"}))
    return lines


def test_an_exponent_is_raised_after_napoleon() -> None:
    assert processed("J^T, s^2") == ["J\u2060\\ :sup:`T`\\ , s\u2060\\ :sup:`2`\\ "]
    assert processed("M^(-1/2)") == ["M\u2060\\ :sup:`−1/2`\\ "]
    assert processed("(J J^T)^-1") == ["(J J\u2060\\ :sup:`T`\\ )\u2060\\ :sup:`−1`\\ "]
    assert processed("sigma_1") == ["σ\u2060\\ :sub:`1`\\ "]


def test_a_source_cites_what_the_bibliography_holds_and_nothing_else() -> None:
    assert processed("Source: Wampler 1986; Nobody 1987.") == [":Source: :cite:t:`wampler1986`; Nobody 1987."]


def test_an_entry_does_not_link_itself() -> None:
    assert processed("As `damped`, `Arm.from_model` and `nothing`.") == [
        "As ``damped``, :py:obj:`Arm.from_model <ikcourse.Arm.from_model>` and ``nothing``."
    ]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("ik.leak", "ikcourse.leak"),
        ("ik.project(J, z)", "ikcourse.project"),
        ("show.COLOURS", "ikcourse.show.COLOURS"),
        ("check.dls", "ikcourse.check.dls"),
        ("ik.nothing", None),
        ("damped", None),
        ("ik.leak + 1", None),
    ],
)
def test_what_a_text_speaks_of(code: str, name: str | None) -> None:
    assert mentioned(code) == name


@pytest.mark.parametrize(("example", "language"), [("x = 1", "python"), ("f  = 1 / s, or zero", "text")])
def test_an_example_is_set_as_code(example: str, language: str) -> None:
    assert processed(f"So:\n\n    {example}") == ["So:", "", f".. code-block:: {language}", "", f"    {example}"]


def test_a_signature_says_only_what_tells_something() -> None:
    assert tidy_signature("(gamma=0.7853981633974483)", "~typing.Any") == ("(gamma=0.785398)", None)
    assert tidy_signature("(*args, **kwargs)", "Arm") == (None, "Arm")
    assert tidy_signature("(folder=PosixPath('results'))", "None") == ("(folder='results')", None)


def ignored(name: str, kind: str = "py:class") -> bool:
    """Whether a type that has no entry would be passed over."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]
    return any(
        re.fullmatch(kinds, kind) and re.fullmatch(names, name) for kinds, names in config["nitpick_ignore_regex"]
    )


@pytest.mark.parametrize("shape", [str, spelled, lambda name: name.rpartition(".")[2]], ids=["full", "short", "last"])
def test_only_other_libraries_types_may_lack_an_entry(shape: Callable[[str], str]) -> None:
    assert ignored("numpy.ndarray")
    assert [name for name in documented() if ignored(shape(name)) or ignored(shape(name), "py:obj")] == []
