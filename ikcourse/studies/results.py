"""Everything in `results/`, recomputed by one command, and the check that nothing there has drifted."""

from __future__ import annotations

import platform
from pathlib import Path

import mujoco
import numpy as np

from ikcourse import scenes
from ikcourse.paths import REACH
from ikcourse.studies import damping

FOLDER = Path("results")
FACTS = "FACTS.md"
VERSIONS = "Computed with "


def write(folder: Path = FOLDER) -> int:
    """Recompute every file into the folder; return 0."""
    rows = damping.study(scenes.panda())
    damping.write(rows, folder / damping.FILE)
    (folder / FACTS).write_text(_facts(rows), encoding="utf-8")
    print(f"{folder / damping.FILE}\n{folder / FACTS}")
    return 0


def check(folder: Path = FOLDER) -> int:
    """Recompute every table and compare it with the folder's, line by line; 0 where they agree, else 1.

    FACTS.md is compared with the table beside it, but for the line that names the versions.
    """
    file, facts = folder / damping.FILE, folder / FACTS
    kept, written = damping.read(file), facts.read_text(encoding="utf-8")
    fresh = damping.study(scenes.panda())
    hint = "(`python -m ikcourse results` writes it)"
    found = 0
    if len(fresh) != len(kept) or not all(map(damping.agree, fresh, kept)):
        print(f"{file} is not what this code computes:\n{damping.table(fresh)}\n{hint}")
        found = 1
    if written.split(VERSIONS)[0] != _facts(kept).split(VERSIONS)[0]:
        print(f"{facts} does not say what {file} says {hint}")
        found = 1
    if not found:
        print(f"{file} is what this code computes, and {facts} says so")
    return found


def _facts(rows: list[damping.Row]) -> str:
    healthy = [row for row in rows if row.end_state is damping.EndState.HEALTHY]
    folded = [row for row in rows if row.end_state is damping.EndState.COLLAPSED]
    columns = damping.header()
    lines = [
        "# Facts",
        "",
        "What the files beside this one say, and how many runs each stands on.",
        "`python -m ikcourse results` writes all of them, and `--check` recomputes and compares.",
        "",
        "## damping_end_state.csv",
        "",
        f"The built-in Panda reaches to {REACH:.2f} m from its shoulder and returns; {len(rows)} runs, one a damping.",
        f"{len(healthy)} runs come home and {len(folded)} fold.",
        "A mean over both kinds would describe neither.",
        "",
        "| " + " | ".join(columns) + " |",
        "|" + " ---: |" * len(columns),
        *("| " + " | ".join(damping.printed(row)) + " |" for row in rows),
        "",
        f"{VERSIONS}MuJoCo {mujoco.__version__}, NumPy {np.__version__}, Python {platform.python_version()}.",
        "",
    ]
    return "\n".join(lines)
