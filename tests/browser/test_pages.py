"""Every page of the built book opens without an error and without a network, and its live pages come to life."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Frame, Page, expect

from tests.needs import cannot

Visit = Callable[..., Page]
FIGURES = {"index": "panda.html#drag", "collapse_band": "panda.html#map", "planar_arm": "planar.html"}
TYPESET = "window.MathJax?.startup?.promise?.then(() => true) ?? true"


def pages_of(book: Path) -> list[str]:
    static = book / "_static"
    return [file.relative_to(book).as_posix() for file in sorted(book.rglob("*.html")) if static not in file.parents]


def wake(page: Page) -> Frame:
    """Bring the page's live figure into view, and return the frame that takes the still's place."""
    page.locator("figure.live").scroll_into_view_if_needed()
    expect(page.locator("figure.live.awake")).to_be_visible(timeout=60_000)
    frame = page.locator("figure.live iframe").element_handle().content_frame()
    assert frame is not None
    return frame


def test_every_page_opens_by_itself(home: str | Path, book: Path, visit: Visit) -> None:
    for name in pages_of(book):
        page = visit(home, name)
        if name == "index.html":
            page.wait_for_url("**/book/index.html")
        assert page.evaluate(TYPESET)
        page.context.close()


@pytest.mark.parametrize("name", FIGURES)
def test_a_live_page_takes_the_place_of_its_still(name: str, home: str | Path, live: Path, visit: Visit) -> None:
    page = visit(home, f"book/{name}.html")
    frame = wake(page)
    assert frame.url.endswith(f"/live/{FIGURES[name]}")
    iframe, still = page.locator("figure.live iframe"), page.locator("figure.live img")
    assert (iframe.get_attribute("title", timeout=1000) or "").startswith("Live: ")
    expect(still).to_be_hidden()
    expect(page.locator("figure.live .live-still")).to_be_hidden()
    expect(page.locator("figure.live .live-note a")).to_have_attribute("href", f"../live/{FIGURES[name]}")
    # As high as what it shows: nothing to scroll inside, and no empty space.
    page.wait_for_function("() => document.querySelector('figure.live iframe').style.height !== ''")
    page.wait_for_timeout(500)
    inside = frame.evaluate("document.documentElement.scrollHeight - innerHeight")
    assert abs(inside) <= 1


def test_a_figure_sleeps_until_the_reader_comes_near(book: Path, live: Path, visit: Visit) -> None:
    page = visit(book, "book/collapse_band.html")
    page.evaluate(TYPESET)
    assert page.locator("figure.live iframe").count() == 0
    expect(page.locator("figure.live img")).to_have_count(1)


def test_the_theme_reaches_the_live_page(book: Path, live: Path, visit: Visit) -> None:
    page = visit(book, "book/planar_arm.html", color_scheme="light")
    frame = wake(page)
    told = "theme => document.documentElement.dataset.theme === theme"
    frame.wait_for_function(told, arg="light")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    frame.wait_for_function(told, arg="dark")
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    frame.wait_for_function(told, arg="light")


def test_the_theme_that_the_reader_chose_is_there_from_the_start(book: Path, live: Path, visit: Visit) -> None:
    page = visit(book, "book/planar_arm.html", color_scheme="light")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    wake(page).wait_for_function("() => document.documentElement.dataset.theme === 'dark'")


def test_the_height_is_remembered(book: Path, live: Path, visit: Visit) -> None:
    page = visit(book, "book/planar_arm.html")
    wake(page)
    page.wait_for_timeout(500)
    height = page.locator(".live-stage").bounding_box()["height"]  # type: ignore[index]
    page.goto("about:blank")
    page.goto(f"{book.as_uri()}/book/planar_arm.html")
    assert page.locator("figure.live iframe").count() == 0
    assert page.locator(".live-stage").bounding_box()["height"] == pytest.approx(height, abs=1)  # type: ignore[index]


def test_the_keyboard_walks_through_a_live_page_and_out_of_it(book: Path, live: Path, visit: Visit) -> None:
    page = visit(book, "book/planar_arm.html")
    frame = wake(page)
    page.locator("figure.live iframe").focus()
    inside = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") != "IFRAME":
            break
        inside.add(frame.evaluate("document.activeElement.outerHTML"))
    assert len(inside) > 2
    assert page.evaluate("document.activeElement.getAttribute('href')") == "../live/planar.html"


def test_the_book_may_lie_below_a_path(book: Path, live: Path, visit: Visit, serve: Any, tmp_path: Path) -> None:
    (tmp_path / "some" / "where").mkdir(parents=True)
    (tmp_path / "some" / "where" / "book").symlink_to(book, target_is_directory=True)
    with serve(tmp_path) as address:
        for page in ("panda", "planar"):
            opened = visit(f"{address}/some/where/book", f"live/{page}.html")
            opened.wait_for_function("() => document.querySelector('canvas, svg') !== null")
        wake(visit(f"{address}/some/where/book", "book/index.html"))


def test_without_scripts_a_still_and_a_link_remain(book: Path, live: Path, visit: Visit) -> None:
    for name, target in FIGURES.items():
        page = visit(book, f"book/{name}.html", java_script_enabled=False)
        expect(page.locator("figure.live img")).to_be_visible()
        expect(page.locator("figure.live a")).to_have_attribute("href", f"../live/{target}")
        expect(page.locator("figure.live .live-still")).to_contain_text("needs scripts")
        assert page.locator("figure.live iframe").count() == 0


def test_a_live_page_that_cannot_be_loaded_leaves_its_still(book: Path, live: Path, open_page: Any) -> None:
    page, _ = open_page(book, "book/planar_arm.html")
    page.locator("figure.live").evaluate("figure => { figure.dataset.page = '../live/missing.html'; }")
    page.locator("figure.live").scroll_into_view_if_needed()
    page.wait_for_selector("figure.live iframe", state="attached")
    page.wait_for_timeout(500)
    expect(page.locator("figure.live img")).to_be_visible()
    expect(page.locator("figure.live iframe")).to_be_hidden()


def test_no_page_is_wider_than_a_phone(book: Path, live: Path, visit: Visit) -> None:
    for name in FIGURES:
        page = visit(book, f"book/{name}.html", viewport={"width": 400, "height": 800})
        frame = wake(page)
        for place in (page, frame):
            assert place.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_on_paper_the_still_is_back(book: Path, live: Path, visit: Visit) -> None:
    page = visit(book, "book/planar_arm.html")
    wake(page)
    page.emulate_media(media="print")
    expect(page.locator("figure.live img")).to_be_visible()
    expect(page.locator("figure.live iframe")).to_be_hidden()


@pytest.mark.parametrize(
    ("breakage", "complaint"),
    [
        ("", None),
        ('<img src="https://book.invalid/a.png" alt="">', "outside the book"),
        ('<script src="http://127.0.0.1:9/lib.js"></script>', "outside the book"),
        ('<iframe src="https://book.invalid/"></iframe>', "outside the book"),
        ('<iframe srcdoc="<script>console.error(1)</script>"></iframe>', "console"),
        ('<script>console.error("oh")</script>', "console: oh"),
        ("<script>nothing()</script>", "not defined"),
        ('<img src="missing.png" alt="">', "missing.png"),
        ("<script>fetch('https://book.invalid/data').catch(() => 0)</script>", "outside the book"),
        (
            "<script>new Worker(URL.createObjectURL(new Blob(['fetch(\"https://book.invalid/w\")'])))</script>",
            "outside the book",
        ),
    ],
)
@pytest.mark.parametrize("served", [False, True])
def test_a_broken_page_is_heard(
    tmp_path: Path, open_page: Any, serve: Any, breakage: str, complaint: str | None, served: bool
) -> None:
    page = f"<!doctype html><link rel=icon href='data:,'><title>t</title><p>text</p>{breakage}"
    (tmp_path / "page.html").write_text(page)
    with serve(tmp_path) as address:
        opened, heard = open_page(address if served else tmp_path, "page.html")
        opened.wait_for_timeout(300)
    if complaint is None:
        assert heard == []
    else:
        assert any(complaint in one for one in heard), heard


def test_what_cannot_run_is_skipped_here_and_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception):
        cannot("no browser")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception):
        cannot("no browser")
