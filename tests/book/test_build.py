"""The build is honest: a chapter that raises fails it, and so does a warning, at the second call too."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def write_chapter(file: Path, *cells: tuple[str, str]) -> None:
    kinds: dict[str, dict[str, object]] = {"code": {"execution_count": None, "outputs": []}, "markdown": {}}
    notebook = {
        "cells": [
            {"id": f"c{k}", "cell_type": kind, "metadata": {}, "source": source, **kinds[kind]}
            for k, (kind, source) in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    file.write_text(json.dumps(notebook))


@pytest.fixture
def small_book(tmp_path: Path) -> Path:
    """Two pages under this book's own settings."""
    book = tmp_path / "book"
    shutil.copytree(ROOT / "book" / "assets", book / "assets")
    shutil.copy(ROOT / "_config.yml", tmp_path)
    (book / "references.bib").write_text("@misc{nobody2000, author={Nobody}, title={Nothing}, year={2000}}\n")
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/index\nchapters:\n- file: book/chapter\n")
    (book / "index.md").write_text("# A book\n\nSee {doc}`chapter`.\n")
    return tmp_path


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """The command of `make book`, on another folder."""
    command = [sys.executable, str(ROOT / ".ci" / "build_book.py"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_a_chapter_that_raises_fails_the_build_until_it_is_mended(small_book: Path) -> None:
    chapter = small_book / "book" / "chapter.ipynb"
    write_chapter(chapter, ("markdown", "# A chapter"), ("code", "assert 1 + 1 == 3, 'sums are wrong'"))
    for _ in range(2):
        broken = build(small_book)
        assert broken.returncode != 0
        assert "sums are wrong" in broken.stdout + broken.stderr

    write_chapter(chapter, ("markdown", "# A chapter"), ("code", "6 * 7"))
    mended = build(small_book)
    assert mended.returncode == 0, mended.stderr
    assert ">42\n<" in (small_book / "_build" / "html" / "book" / "chapter.html").read_text()


def test_a_chapter_runs_again_only_when_it_or_the_package_changes(small_book: Path) -> None:
    chapter = small_book / "book" / "chapter.ipynb"
    write_chapter(chapter, ("markdown", "# A chapter"), ("code", "print(open('../ikcourse/gain.py').read())"))
    (small_book / "ikcourse").mkdir()
    gain = small_book / "ikcourse" / "gain.py"
    page = small_book / "_build" / "html" / "book" / "chapter.html"
    gain.write_text("gain = 111")
    assert "ran chapter.ipynb" in build(small_book).stdout
    assert "ran chapter.ipynb" not in build(small_book).stdout
    gain.write_text("gain = 222")
    assert "ran chapter.ipynb" in build(small_book).stdout
    assert "gain = 222" in page.read_text()


def test_a_warning_fails_the_build_at_the_second_call_too(small_book: Path) -> None:
    write_chapter(
        small_book / "book" / "chapter.ipynb",
        ("markdown", "# A chapter\n\nSee {ref}`nowhere` and {cite:t}`unwritten1999`."),
    )
    for _ in range(2):
        warned = build(small_book)
        assert warned.returncode != 0
        assert "nowhere" in warned.stderr
        assert "unwritten1999" in warned.stderr


PAGE = """:::{live} demo.html#far
![Two links and the target that they follow.](assets/still.png)

Drag the target.
The tool follows.
:::
"""
BUILD_PAGE = """
import { mkdirSync, writeFileSync } from "node:fs";
mkdirSync(process.argv[2], { recursive: true });
for (const name of ["demo.html", "embed.js"]) writeFileSync(`${process.argv[2]}/${name}`, "%s");
"""
NO_NETWORK = {"npm_config_registry": "http://127.0.0.1:9/"}


def write_live_page(folder: Path, says: str, needs: str = "") -> None:
    """A live page whose build needs a package, or none."""
    live = folder / "book" / "live"
    (live / "node_modules" / "three").mkdir(parents=True, exist_ok=True)
    (live / "node_modules" / "three" / "LICENSE").write_text("The MIT License")
    shutil.copy(ROOT / "book" / "assets" / "live" / "planar.png", folder / "book" / "assets" / "still.png")
    (live / "demo.html").write_text("<title>A page</title>")
    (live / "build.mjs").write_text(BUILD_PAGE % says)
    packages: dict[str, dict[str, object]] = {"": {"name": "demo", "version": "1.0.0"}}
    if needs:
        packages[""]["dependencies"] = {needs: "1.0.0"}
        packages[f"node_modules/{needs}"] = {"version": "1.0.0", "integrity": "sha512-" + "A" * 86 + "=="}
    (live / "package.json").write_text(json.dumps({**packages[""], "type": "module"}))
    lock = {"name": "demo", "version": "1.0.0", "lockfileVersion": 3, "packages": packages}
    (live / "package-lock.json").write_text(json.dumps(lock))
    (live / "node_modules" / ".package-lock.json").write_text(json.dumps({"packages": {}}))


def test_stills_without_a_network_live_pages_with_one(
    small_book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**NO_NETWORK, "npm_config_cache": str(tmp_path / "npm")}.items():
        monkeypatch.setenv(name, value)
    html, built = small_book / "_build" / "html", "_build/html/book/index.html"
    (small_book / "book" / "index.md").write_text(f"# A book\n\nSee {{doc}}`chapter`.\n\n{PAGE}")
    write_chapter(small_book / "book" / "chapter.ipynb", ("markdown", "# A chapter"), ("code", "6 * 7"))

    write_live_page(small_book, "once", needs="three")
    still = build(small_book)
    assert still.returncode == 0, still.stderr
    assert "still pictures in place of its live pages" in still.stdout
    page = (small_book / built).read_text()
    assert "npm, which could not be reached" in page
    assert "Two links and the target that they follow." in page
    assert "live/" not in page
    assert not (html / "live").exists()

    write_live_page(small_book, "once")
    alive = build(small_book)
    assert alive.returncode == 0, alive.stderr
    assert "ran chapter.ipynb" not in alive.stdout
    page = (small_book / built).read_text()
    assert 'data-page="../live/demo.html#far" data-title="Live: Drag the target"' in page
    assert 'href="../live/demo.html#far"' in page
    assert page.count("../live/embed.js") == 1
    assert (html / "live" / "demo.html").read_text() == "once"
    assert "Apache License" in (html / "live" / "LICENSES.txt").read_text()
    assert "nothing changed" in build(small_book).stdout

    before = (small_book / built).stat().st_mtime_ns
    write_live_page(small_book, "twice")
    assert "the live pages changed" in build(small_book).stdout
    assert (html / "live" / "demo.html").read_text() == "twice"
    assert (small_book / built).stat().st_mtime_ns == before

    write_live_page(small_book, "not at all", needs="three")
    assert build(small_book).returncode == 0
    assert "npm, which could not be reached" in (small_book / built).read_text()
    assert not (html / "live").exists()


def test_a_fault_in_a_live_page_fails_the_build(small_book: Path) -> None:
    write_chapter(small_book / "book" / "chapter.ipynb", ("markdown", "# A chapter"))
    write_live_page(small_book, "once")
    (small_book / "book" / "live" / "build.mjs").write_text("throw new Error('no such import')")
    broken = build(small_book)
    assert broken.returncode != 0
    assert "no such import" in broken.stdout + broken.stderr


def test_a_live_page_without_its_words_is_a_warning(small_book: Path) -> None:
    write_chapter(small_book / "book" / "chapter.ipynb", ("markdown", "# A chapter"))
    write_live_page(small_book, "once")
    breaks = {
        PAGE.replace("Two links and the target that they follow.", ""): "says in its alt text what one sees",
        PAGE.replace("demo.html", "other.html"): "other.html is no live page; there are: demo.html",
        PAGE.replace("Drag the target.\nThe tool follows.", ""): "a still picture in one paragraph and a caption",
        PAGE.replace("![Two", "Look: ![Two"): "alone in its paragraph",
    }
    (small_book / "book" / "index.md").write_text("# A book\n\nSee {doc}`chapter`.\n\n" + "\n\n".join(breaks))
    warned = build(small_book)
    assert warned.returncode != 0
    for complaint in breaks.values():
        assert complaint in warned.stderr
