"""Everything in `results/`, recomputed by one command, and the check that nothing there has drifted."""

from __future__ import annotations

import platform
import sys
import tempfile
from pathlib import Path

import mujoco
import numpy as np

from ikcourse import scenes
from ikcourse.studies import damping

FOLDER = Path("results")
FACTS = "FACTS.md"


def write(folder: Path = FOLDER) -> int:
    """Recompute every file into the folder; return 0."""
    rows = damping.study(scenes.panda())
    damping.write(rows, folder / damping.FILE)
    (folder / FACTS).write_text(_facts(rows))
    print(f"{folder / damping.FILE}\n{folder / FACTS}")
    return 0


def check(folder: Path = FOLDER) -> int:
    """Recompute every table into a temporary folder and compare it with the folder's; 0 where each is the same text."""
    with tempfile.TemporaryDirectory() as temporary:
        fresh = Path(temporary)
        damping.write(damping.study(scenes.panda()), fresh / damping.FILE)
        differs = [
            file.name
            for file in sorted(fresh.iterdir())
            if not (folder / file.name).is_file() or (folder / file.name).read_text() != file.read_text()
        ]
    for name in differs:
        print(
            f"{folder / name} is not what this code computes; run `python -m ikcourse results`",
            file=sys.stderr,
        )
    return 1 if differs else 0


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
        f"The built-in Panda reaches to 0.70 m from its shoulder and returns in 6 s; {len(rows)} runs, one a damping.",
        f"{len(healthy)} runs come home and {len(folded)} fold.",
        "A mean over both kinds would describe neither.",
        "",
        "| " + " | ".join(columns) + " |",
        "|" + " ---: |" * len(columns),
        *("| " + " | ".join(damping.printed(row)) + " |" for row in rows),
        "",
        f"Computed with MuJoCo {mujoco.__version__}, NumPy {np.__version__}, Python {platform.python_version()}.",
        "",
    ]
    return "\n".join(lines)
