"""Many runs of one arm, a chunk at a time, so that a progress bar has something to show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ikcourse.arm import Arm
from ikcourse.laws import Law
from ikcourse.loop import Run
from ikcourse.paths import Path
from ikcourse.track_many import track_many

Progress = Callable[[Sequence[Any]], Iterable[Any]]
"""Wraps a sequence in a progress bar; `iter` shows none."""
CHUNK = 42


def run_all(arm: Arm, paths: Sequence[Path], laws: Sequence[Law], progress: Progress = iter) -> Iterator[Run]:
    """`track_many` of each path with its law, in order."""
    for start in progress(range(0, len(laws), CHUNK)):
        chunk = slice(start, start + CHUNK)
        yield from track_many(arm, paths[chunk], laws[chunk])
