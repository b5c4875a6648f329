"""Build the live pages of book/live into _build/live, and put them into the built book.

    python .ci/live_pages.py [FOLDER]       the packages and the pages; default: this repository
    python .ci/live_pages.py --packages     the packages alone, which the tests of the pages' modules need

Node and npm are the machine's where they are new enough, else PyPI's, installed into this environment when first
needed. Where neither can be had, or npm reaches no network, the book shows a still picture in each page's place, and
every later build tries again.
"""

from __future__ import annotations

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import files
from pathlib import Path

from fingerprint import fingerprint

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("book/live", "scene", "results/collapse_map.bin")
OLDEST_NODE = 20
# Without a network npm should say so within seconds.
NPM = "ci --ignore-scripts --no-audit --no-fund --fetch-retries=2 --fetch-retry-mintimeout=1000 --fetch-timeout=60000"


class NotHere(Exception):
    """Why the pages cannot be built on this machine now."""


def run(command: list[str], cwd: Path, tool: str) -> str:
    """The output of a command; NotHere with the line of its complaint that tells most."""
    path = os.pathsep.join([str(Path(command[0]).parent), os.environ.get("PATH", "")])
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env={**os.environ, "PATH": path})
    if done.returncode:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        telling = [line for line in said if re.search(r"\bcode\b|ENOTFOUND|ECONN|EAI_AGAIN|ERROR|rror:", line)]
        raise NotHere(f"{tool} failed: {(telling or said or ['without a word'])[0].strip()}")
    return done.stdout


def new_enough(node: str | None) -> bool:
    if node is None:
        return False
    try:
        told = subprocess.run([node, "--version"], capture_output=True, text=True)
    except OSError:  # made for another machine
        return False
    version = re.match(r"v(\d+)\.", told.stdout)
    return version is not None and int(version[1]) >= OLDEST_NODE


def tools(install: bool = True) -> tuple[str, str]:
    """Node and npm: the machine's, else this environment's, into which they are installed when asked."""
    own = str(Path(sys.executable).parent)
    for place in (None, own):
        node, npm = shutil.which("node", path=place), shutil.which("npm", path=place)
        if node and npm and new_enough(node):
            return node, npm
    if not install:
        raise NotHere(f"no Node.js {OLDEST_NODE} or newer with npm")
    print("-- installing Node.js into .venv", flush=True)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = settings["project"]["optional-dependencies"]["node"]
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", *asked]
    run(pip, ROOT, f"there is no Node.js {OLDEST_NODE} or newer with npm here, and pip")
    return tools(install=False)


def packages(folder: Path) -> str:
    """Make node_modules what the lock says, and return node."""
    live = folder / "book" / "live"
    node, npm = tools()
    if not match_the_lock(live):
        print("-- installing the packages of the live pages (npm ci)", flush=True)
        run([npm, *NPM.split()], live, "npm")
    return node


def match_the_lock(live: Path) -> bool:
    """Whether npm's own list of what it installed is the lock's, other machines' binaries aside."""
    installed = live / "node_modules" / ".package-lock.json"
    if not installed.is_file():
        return False
    due = json.loads((live / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    try:
        here = json.loads(installed.read_text(encoding="utf-8"))["packages"]
    except ValueError:  # npm was stopped while it wrote
        return False
    return all(
        here.get(name, {}).get("integrity") == package["integrity"]
        for name, package in due.items()
        if name and (name in here or not package.get("optional"))
    )


def build(folder: Path) -> bool:
    """Bring _build/live up to date; False where that cannot be, and then there is none.

    What is missing on this machine leaves stills in the book; a fault in the pages' own sources ends the build.
    """
    built = (folder / "book" / "live").is_dir() and bring_up_to_date(folder)
    if not (told := state(folder)).is_file() or told.read_text() != str(built):
        told.parent.mkdir(exist_ok=True)
        told.write_text(str(built))
    return built


def state(folder: Path) -> Path:
    """Written when the book changes between live pages and stills: the chapters that show them depend on it."""
    return folder / "_build" / "live.state"


def bring_up_to_date(folder: Path) -> bool:
    made, stamp = folder / "_build" / "live", folder / "_build" / "live.built"
    now = fingerprint(folder, SOURCES)
    if made.is_dir() and stamp.is_file() and stamp.read_text() == now:
        return True
    stamp.unlink(missing_ok=True)
    shutil.rmtree(made, ignore_errors=True)
    try:
        node = packages(folder)
    except NotHere as reason:
        print(f"-- the book shows still pictures in place of its live pages: {reason}", flush=True)
        return False
    print("-- building the live pages", flush=True)
    if subprocess.run([node, "build.mjs", str(made)], cwd=folder / "book" / "live").returncode:
        sys.exit("-- the live pages do not build")
    (made / "LICENSES.txt").write_text(licences(folder), encoding="utf-8")
    stamp.write_text(now)
    return True


def licences(folder: Path) -> str:
    """The licences of what the pages carry; MuJoCo's lie in its Python package."""
    three = folder / "book" / "live" / "node_modules" / "three" / "LICENSE"
    of_mujoco = sorted(file for file in files("mujoco") or [] if file.name.startswith("LICENSE"))
    texts = {
        "three.js": [three.read_text(encoding="utf-8")],
        "MuJoCo": [file.read_text(encoding="utf-8") for file in of_mujoco],
    }
    return "\n\n".join(f"{'=' * 78}\n{name}\n{'=' * 78}\n\n" + "\n\n".join(words) for name, words in texts.items())


def place(folder: Path) -> bool:
    """Make _build/html/live the same as _build/live; whether it was not."""
    made, target = folder / "_build" / "live", folder / "_build" / "html" / "live"
    if made.is_dir() and target.is_dir():
        difference = filecmp.dircmp(made, target)
        if not (difference.left_only or difference.right_only or difference.diff_files):
            return False
    shutil.rmtree(target, ignore_errors=True)
    if made.is_dir():
        shutil.copytree(made, target)
    return made.is_dir()


if __name__ == "__main__":
    try:
        if sys.argv[1:] == ["--packages"]:
            packages(ROOT)
        else:
            build(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT)
    except NotHere as reason:
        print(f"-- no packages for the live pages: {reason}", flush=True)
