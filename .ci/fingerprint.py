"""What a build was made from, as one number: a stamp that says whether it must be made again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

MADE = {"__pycache__", ".ipynb_checkpoints", "node_modules"}


def fingerprint(folder: Path, names: Iterable[str], without: Iterable[str] = ()) -> str:
    """Of the named files and everything in the named folders, less some folders and what tools leave there."""
    digest, left_out = hashlib.sha256(), {folder / name for name in without}
    for name in names:
        for file in sorted(_files(folder / name, left_out)):
            digest.update(f"{file.relative_to(folder).as_posix()}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def _files(place: Path, left_out: set[Path]) -> Iterator[Path]:
    if place.is_file():
        yield place
    for inside, folders, names in os.walk(place):
        folders[:] = [name for name in folders if name not in MADE and Path(inside, name) not in left_out]
        yield from (Path(inside, name) for name in names)
