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
