"""A browser for the built book: no page may report an error, or fetch anything from outside the book.

Chromium draws in software, as it must on a machine without a graphics card. Where there is no browser or no built book
these tests are skipped, saying so; in CI they fail.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, Response, sync_playwright

from tests.needs import cannot

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "_build" / "html"
FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]
INSIDE = ("data:", "blob:", "about:")

Opener = Callable[..., tuple[Page, list[str]]]


@pytest.fixture(scope="session")
def book() -> Path:
    if not (BOOK / "index.html").is_file():
        cannot("no built book here: `make book` first; `make test` builds it before these tests")
    return BOOK


@pytest.fixture(scope="session")
def live(book: Path) -> Path:
    """The folder of the live pages in the built book."""
    if not (book / "live").is_dir():
        cannot("this book was built without its live pages: npm could not be reached")
    return book / "live"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    known = ROOT / ".venv" / ".browser"
    path = os.environ.get("OUT_OF_RANK_BROWSER") or (known.read_text() if known.is_file() else "")
    if not path:
        cannot("no browser: `bash .ci/environment browser` finds or installs one")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def serve() -> Callable[[Path], Any]:
    """A static server for a folder, on a free port: `with serve(folder) as address`."""
    return served


def listen(context: BrowserContext, home: str) -> list[str]:
    """What goes wrong on the context's pages, their frames and workers, for as long as it lives."""
    complaints: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(f"console: {message.text}")

    def on_request(request: Request) -> None:
        if not request.url.startswith((home, *INSIDE)):
            complaints.append(f"fetched from outside the book: {request.url}")

    def on_response(response: Response) -> None:
        if response.status >= 400:
            complaints.append(f"{response.status}: {response.url}")

    def on_failure(request: Request) -> None:
        # Not faults: a script where scripts are switched off, and what was under way when the page was left.
        if request.failure not in ("csp", "net::ERR_ABORTED"):
            complaints.append(f"failed: {request.url} {request.failure}")

    context.on("console", on_console)
    context.on("weberror", lambda error: complaints.append(f"error: {error.error}"))
    context.on("request", on_request)
    context.on("response", on_response)
    context.on("requestfailed", on_failure)
    return complaints


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Opener]:
    """`page, complaints = open_page(home, path)` from an address or a folder; by itself it asserts nothing."""
    contexts = []

    def opened(home: str | Path, path: str, **settings: Any) -> tuple[Page, list[str]]:
        address = home.as_uri() if isinstance(home, Path) else home
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **settings})
        contexts.append(context)
        complaints, page = listen(context, f"{address}/"), context.new_page()
        page.set_default_timeout(60_000)  # software drawing, and both cores at work
        page.goto(f"{address}/{path}")
        return page, complaints

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def visit(open_page: Opener) -> Iterator[Callable[..., Page]]:
    """`page = visit(home, path)`; the test fails at its end if the page complained."""
    heard = []

    def visited(home: str | Path, path: str, **settings: Any) -> Page:
        page, complaints = open_page(home, path, **settings)
        heard.append((path, complaints))
        return page

    yield visited
    assert [(path, complaints) for path, complaints in heard if complaints] == []


@pytest.fixture(params=["file", "server"])
def home(request: pytest.FixtureRequest, book: Path) -> Iterator[str | Path]:
    """Where the book is read from: a folder, or a static server."""
    if request.param == "file":
        yield book
    else:
        with served(book) as address:
            yield address
