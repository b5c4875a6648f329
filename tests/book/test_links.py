"""The built book stands on its own: every link, picture, film, script and stylesheet resolves inside it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup, Tag

BOOK = Path(__file__).resolve().parents[2] / "_build" / "html"

# What a page loads by itself, or shows; <a href> is what a reader may follow.
LOADED = {
    ("img", "src"), ("source", "src"), ("video", "src"), ("video", "poster"), ("audio", "src"), ("script", "src"),
    ("link", "href"), ("iframe", "src"), ("embed", "src"), ("object", "data"), ("image", "href"), ("use", "href"),
}  # fmt: skip
CSS_URL = re.compile(r"""url\(\s*['"]?([^'")]+)['"]?\s*\)|@import\s+['"]([^'"]+)['"]""")
# Names, not addresses: XML namespaces, and the licence lines of scripts.
ADDRESS = re.compile(r"https?://(?!www\.w3\.org/)[^\s\"'<>)]+")


@cache
def parsed(page: Path) -> BeautifulSoup:
    return BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")


def value(tag: Tag, attribute: str) -> str:
    return str(tag.get(attribute) or "")


@cache
def anchors(page: Path) -> frozenset[str]:
    soup = parsed(page)
    return frozenset(
        [value(tag, "id") for tag in soup.find_all(id=True)]
        + [value(tag, "name") for tag in soup.find_all("a", {"name": True})]
    )


def problem_with(target: str, page: Path, book: Path, follow: bool = False) -> str | None:
    """What is wrong with one address on a page; `follow` is for links that a reader may follow off the book."""
    parts = urlsplit(target.strip())
    if parts.scheme in ("data", "blob", "about") or (follow and parts.scheme in ("http", "https", "mailto")):
        return None
    if parts.scheme or parts.netloc:
        return "leaves the book"
    if parts.path.startswith("/"):
        return "is an absolute path, which breaks when the book is opened as a file"
    file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if file.is_dir():
        file /= "index.html"
    if not file.is_relative_to(book):
        return "points outside the book's folder"
    if not file.is_file():
        return "does not exist"
    if file.parent == book / "live" and page.parent != file.parent:
        return None  # what a live page opens with, not a place in it; tests/browser follows it
    if parts.fragment and file.suffix == ".html" and unquote(parts.fragment) not in anchors(file) | {"top"}:
        return "has no such anchor"
    return None


def problems_of_page(page: Path, book: Path) -> list[str]:
    soup, found = parsed(page), []

    def look(target: str, what: str, follow: bool = False) -> None:
        wrong = problem_with(target, page, book, follow)
        if wrong:
            found.append(f"{page.relative_to(book)}: {what} {target[:120]} {wrong}")

    for tag in soup.find_all("a", href=True):
        look(value(tag, "href"), "link", follow=True)
    for name, attribute in sorted(LOADED):
        for tag in soup.find_all(name, attrs={attribute: True}):
            look(value(tag, attribute), f"<{name}>")
    for tag in soup.find_all(srcset=True):
        for candidate in value(tag, "srcset").split(","):
            look(candidate.split()[0], "srcset")
    for tag in soup.find_all("meta", attrs={"http-equiv": re.compile("^refresh$", re.I)}):
        look(value(tag, "content").split("url=", 1)[-1], "redirect")
    for tag in soup.find_all(style=True):
        for match in CSS_URL.finditer(value(tag, "style")):
            look(match[1] or match[2], "style")
    for tag in soup.find_all("script", src=False):
        if "json" not in value(tag, "type"):
            found += [f"{page.relative_to(book)}: a script names {url}" for url in ADDRESS.findall(tag.string or "")]
    return found


def problems(book: Path) -> list[str]:
    """Everything in a built book that does not resolve, or that would be fetched from another host."""
    book = book.resolve()
    static = book / "_static"
    found = []
    for page in sorted(book.rglob("*.html")):
        if static not in page.parents:
            found += problems_of_page(page, book)
    for sheet in sorted(book.rglob("*.css")):
        for match in CSS_URL.finditer(sheet.read_text(encoding="utf-8", errors="replace")):
            target = match[1] or match[2]
            wrong = problem_with(target.split("?")[0].split("#")[0] or sheet.name, sheet, book)
            if wrong:
                found.append(f"{sheet.relative_to(book)}: {target[:120]} {wrong}")
    return found


@pytest.fixture(scope="module")
def book() -> Path:
    if not (BOOK / "index.html").is_file():
        pytest.skip("no built book here: `make book` first; `make test` builds it before these tests")
    return BOOK


def test_every_link_resolves_and_nothing_is_fetched_from_elsewhere(book: Path) -> None:
    assert problems(book) == []


def test_every_picture_says_what_it_shows(book: Path) -> None:
    silent = []
    for page in sorted((book / "book").rglob("*.html")):
        for tag in parsed(page).find_all("img"):
            alt = value(tag, "alt")
            if len(alt) < 15 or alt.startswith(("_images/", "../_images/")):
                silent.append(f"{page.name}: <img alt={alt!r}>")
    assert silent == []


def test_every_film_has_a_still_and_says_what_it_shows(book: Path) -> None:
    silent = []
    for page in sorted((book / "book").rglob("*.html")):
        assert not parsed(page).find_all(class_="no-opengl"), f"{page.name} was run without OpenGL"
        for tag in parsed(page).find_all("video"):
            if not value(tag, "poster") or len(value(tag, "aria-label")) < 15:
                silent.append(f"{page.name}: a film without a poster or an aria-label")
    assert silent == []


SOUND = '<img src="a.png" alt="a point"><a href="#here">h</a><p id="here"><a href="https://example.org/">off</a>'


@pytest.mark.parametrize(
    ("breakage", "complaint"),
    [
        ("", None),
        ('<a href="#nowhere">x</a>', "no such anchor"),
        ('<a href="other.html#nowhere">x</a>', "no such anchor"),
        ('<a href="missing.html">x</a>', "does not exist"),
        ('<a href="/index.html">x</a>', "absolute path"),
        ('<a href="../../outside.html">x</a>', "outside"),
        ('<img src="missing.png">', "does not exist"),
        ('<video><source src="missing.mp4"></video>', "does not exist"),
        ('<video poster="missing.jpg"></video>', "does not exist"),
        ('<img srcset="a.png 1x, missing.png 2x">', "does not exist"),
        ('<script src="https://example.org/lib.js"></script>', "leaves the book"),
        ('<script src="//example.org/lib.js"></script>', "leaves the book"),
        ('<link rel="stylesheet" href="https://example.org/f.css">', "leaves the book"),
        ('<iframe src="https://example.org/"></iframe>', "leaves the book"),
        ('<script>fetch("https://example.org/lib.js")</script>', "a script names"),
        ('<div style="background: url(missing.png)"></div>', "does not exist"),
        ('<meta http-equiv="Refresh" content="0; url=missing.html">', "does not exist"),
    ],
)
def test_a_broken_page_is_seen(tmp_path: Path, breakage: str, complaint: str | None) -> None:
    (tmp_path / "a.png").touch()
    (tmp_path / "other.html").write_text("<p id='there'></p>")
    (tmp_path / "page.html").write_text(f"{SOUND}<a href='other.html#there'>t</a>{breakage}")
    found = problems(tmp_path)
    if complaint is None:
        assert found == []
    else:
        assert len(found) == 1
        assert complaint in found[0]


def test_a_stylesheet_that_fetches_a_font_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text(
        "@font-face { src: url('https://example.org/f.woff2') } p { background: url(b.png) }"
    )
    assert ["leaves the book" in found or "does not exist" in found for found in problems(tmp_path)] == [True, True]
