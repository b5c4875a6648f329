"""Everything in `results/`, recomputed by one command, and the check that nothing there has drifted.

A table's study is a module with `FILE`, `Row`, `SETTINGS`, `compute(model, settings, progress)` and `facts(rows)`.
Its table holds every setting on both models of the Panda. Where the public one can be neither found nor downloaded,
its rows stand as they were, and that is said.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Protocol

import mujoco
import numpy as np

from ikcourse import scenes
from ikcourse.studies import (
    ablation,
    bakeoff,
    collapse_map,
    damping,
    map_facts,
    mink,
    nullspace,
    practice,
    reach,
    tables,
    tuning,
)
from ikcourse.studies.many import Progress

FOLDER = Path("results")
FACTS = "FACTS.md"
VERSIONS = "Computed with "
HINT = "(`python -m ikcourse results` writes it)"


class Study(Protocol):
    """What makes files of `results/`; where a package that it needs is missing, its files stand as they were."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Packages that a plain install does not bring."""

    def write(self, folder: Path, models: Sequence[str], progress: Progress) -> list[Path]:
        """Recompute the files; return them."""

    def check(self, folder: Path, models: Sequence[str], progress: Progress) -> list[str]:
        """Recompute what the study declares; return what does not agree, a sentence each."""

    def facts(self, folder: Path) -> list[str]:
        """The study's section of FACTS.md, from its files."""


@dataclass(frozen=True)
class Table:
    """A study whose file is one table."""

    module: ModuleType
    needs: tuple[str, ...] = ()

    def write(self, folder: Path, models: Sequence[str], progress: Progress) -> list[Path]:
        file, study = folder / self.module.FILE, self.module
        fresh = [row for model in models for row in study.compute(model, study.SETTINGS, progress)]
        absent = set(scenes.SOURCES) - set(models)
        # Read only where something must be kept: a table whose columns have changed since can be written anew.
        kept = [row for row in tables.read(study.Row, file) if row.model in absent] if absent and file.exists() else []
        tables.write([*fresh, *kept], file)
        return [file]

    def check(self, folder: Path, models: Sequence[str], progress: Progress) -> list[str]:
        file, study = folder / self.module.FILE, self.module
        rows = tables.read(study.Row, file)
        kept = {tables.key(row): row for row in rows}
        settings = getattr(study, "CHECKED", study.SETTINGS)
        fresh = [row for model in models for row in study.compute(model, settings, progress)]
        found = []
        differing = [row for row in fresh if not tables.agree(row, kept.get(tables.key(row)))]
        if differing:
            found.append(f"{file} is not what this code computes:\n{tables.table(differing)}\n{HINT}")
        known = set(map(tables.key, fresh)) if settings == study.SETTINGS else set(kept)
        strange = [
            row
            for k, row in kept.items()
            if row.model not in scenes.SOURCES or (row.model in models and k not in known)
        ]
        if strange:
            found.append(f"{file} holds rows that no setting makes:\n{tables.table(strange)}\n{HINT}")
        for model in models:  # what a check of some of the settings, and a key that is there twice, would miss
            count = sum(row.model == model for row in rows)
            if count != len(study.SETTINGS):
                found.append(f"{file} holds {count} rows of {model}, not {len(study.SETTINGS)} {HINT}")
        return found

    def facts(self, folder: Path) -> list[str]:
        rows = tables.read(self.module.Row, folder / self.module.FILE)
        shown = [row for row in rows if row.model == "builtin"]
        table = ["", *tables.markdown(shown)] if 0 < len(shown) <= 12 else []
        return [f"## {self.module.FILE}", "", *self.module.facts(rows), *table]


@dataclass(frozen=True)
class CollapseMap:
    """The study `collapse_map`: an array and a binary, on the built-in model alone.

    A check runs a sub-grid again. A pixel whose twin ends elsewhere is left out: its end is decided by rounding, which
    another machine's libraries do otherwise.
    """

    grid: collapse_map.Grid = collapse_map.GRID
    needs: tuple[str, ...] = ()

    def write(
        self, folder: Path, models: Sequence[str], progress: Progress, scheduler: str | None = None
    ) -> list[Path]:
        file, grid = folder / collapse_map.FILE, self.grid
        if file.exists() and (stored := collapse_map.load(file).grid).is_like(grid):
            grid = stored
        flat = collapse_map.compute(folder, grid, scheduler, progress)
        files = collapse_map.save(collapse_map.assemble(grid, flat), folder)
        collapse_map.clear(folder)
        return files

    def check(self, folder: Path, models: Sequence[str], progress: Progress) -> list[str]:
        file = folder / collapse_map.FILE
        kept = collapse_map.load(file)
        if not kept.grid.is_like(self.grid):
            return [f"{file} is of another grid {HINT}"]
        differing = 0
        rows = collapse_map.checked(kept)
        for row, pixels in progress(rows):
            fresh = collapse_map.run_row(row)
            differing += int(((fresh["state"] != pixels["state"]) & ~pixels["sensitive"] & ~fresh["sensitive"]).sum())
        found = [f"{file}: {differing} of the pixels that were run again end otherwise {HINT}"] if differing else []
        if (folder / collapse_map.BINARY).read_bytes() != collapse_map.binary(kept):
            found.append(f"{folder / collapse_map.BINARY} is not the map of {file} {HINT}")
        return found

    def facts(self, folder: Path) -> list[str]:
        kept = collapse_map.load(folder / collapse_map.FILE)
        return [f"## {collapse_map.FILE}", "", *map_facts.facts(kept)]


STUDIES: dict[str, Study] = {
    "damping": Table(damping),
    "nullspace": Table(nullspace),
    "reach": Table(reach),
    "ablation": Table(ablation),
    "practice": Table(practice),
    "mink": Table(mink, needs=("mink", "daqp", "quadprog")),
    "bakeoff": Table(bakeoff, needs=("mink", "daqp")),
    "tuning": Table(tuning),
    "map": CollapseMap(),
}


def chosen(only: Sequence[str] | None) -> dict[str, Study]:
    """The studies of these names, or all of them; ValueError with the names that exist for another."""
    unknown = sorted(set(only or ()) - set(STUDIES))
    if unknown:
        raise ValueError(f"there is no study {', '.join(unknown)}; there are {', '.join(STUDIES)}")
    return {name: study for name, study in STUDIES.items() if not only or name in only}


def models_here() -> list[str]:
    """The models that can be had; it is said where one cannot."""
    try:
        scenes.panda("menagerie")
    except RuntimeError as error:
        print(f"the public Panda's rows stand as they were: {error}")
        return ["builtin"]
    return list(scenes.SOURCES)


def possible(studies: dict[str, Study]) -> dict[str, Study]:
    """The studies whose packages are installed; it is said of the others."""
    found = {}
    for name, study in studies.items():
        missing = [package for package in study.needs if find_spec(package) is None]
        if missing:
            print(f"{name} stands as it was: it needs {', '.join(missing)} (pip install 'ikcourse[book]')")
        else:
            found[name] = study
    return found


def write(
    folder: Path = FOLDER, only: Sequence[str] | None = None, progress: Callable[[str], Progress] = lambda name: iter
) -> int:
    """Recompute every file into the folder, or those of the named studies; return 0.

    Args:
        folder: where `results/` is.
        only: names of `STUDIES`.
        progress: for a study's name, what wraps its steps.
    """
    studies = possible(chosen(only))
    tables.require_place(folder / FACTS)
    models = models_here()
    for name, study in studies.items():
        for file in study.write(folder, models, progress(name)):
            print(file)
    with tables.replacing(folder / FACTS) as unfinished:
        unfinished.write_text(_facts(folder), encoding="utf-8")
    print(folder / FACTS)
    return 0


def check(
    folder: Path = FOLDER, only: Sequence[str] | None = None, progress: Callable[[str], Progress] = lambda name: iter
) -> int:
    """Recompute what each study declares and compare it with the folder's; 0 where they agree, else 1.

    FACTS.md is compared with the files beside it, but for the line that names the versions.
    """
    studies, models = possible(chosen(only)), models_here()
    found = [line for name, study in studies.items() for line in study.check(folder, models, progress(name))]
    written = (folder / FACTS).read_text(encoding="utf-8")
    if _without_versions(written) != _without_versions(_facts(folder)):
        found.append(f"{folder / FACTS} does not say what the files beside it say {HINT}")
    for line in found:
        print(line)
    if not found:
        print(f"{', '.join(studies)}: {folder} is what this code computes, and {FACTS} says so")
    return 1 if found else 0


def _without_versions(facts: str) -> list[str]:
    return [line for line in facts.splitlines() if not line.startswith(VERSIONS)]


def _facts(folder: Path) -> str:
    lines = [
        "# Facts",
        "",
        "What the files beside this one say, and how many runs each stands on.",
        "`python -m ikcourse results` writes all of them, and `--check` recomputes and compares.",
    ]
    for name, study in STUDIES.items():
        try:
            lines += ["", *study.facts(folder)]
        except FileNotFoundError:
            lines += ["", f"## {name}", "", f"Not computed yet: `python -m ikcourse results --only {name}`."]
    versions = f"{VERSIONS}MuJoCo {mujoco.__version__}, NumPy {np.__version__}, Python {platform.python_version()}."
    return "\n".join([*lines, "", versions, ""])
