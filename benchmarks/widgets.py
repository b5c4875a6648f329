"""How long an explorer takes to answer a change: control set, simulation, redraw, picture encoded.

    python benchmarks/widgets.py

The bound is one of waiting, on a machine that does nothing else; processor time says what is the explorer's own.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from ikcourse import show
from ikcourse.show.explorer import Explorer

BOUND = 0.5
CHANGES = 20


def seconds(explorer: Explorer, control: str, values: np.ndarray) -> np.ndarray:
    """Waited and computed in each change of a control, (changes, 2)."""
    found = []
    for value in values:
        before = time.perf_counter(), time.process_time()
        explorer.set(**{control: value})
        found.append((time.perf_counter() - before[0], time.process_time() - before[1]))
        if explorer.problem:
            raise RuntimeError(f"{control} = {value:g} was not answered: {explorer.problem}")
    return np.array(found)


def main() -> int:
    """Print the medians; 1 where one misses the bound."""
    missed = False
    for explorer, control, values in (
        (show.damping_explorer(), "damping", np.geomspace(1e-6, 1, CHANGES)),
        (show.damping_explorer(), "reach", np.linspace(0.5, 0.8, CHANGES)),
        (show.ellipse_explorer(), "elbow", np.linspace(-3, 3, CHANGES)),
    ):
        waited, computed = seconds(explorer, control, values).T
        median = statistics.median(waited)
        missed |= median > BOUND
        print(
            f"{type(explorer).__name__}, {control}: {median:.3f} s (median of {CHANGES}, slowest {waited.max():.3f}; "
            f"{statistics.median(computed):.3f} s of processor time); bound {BOUND} s: "
            f"{'MISSED' if median > BOUND else 'met'}"
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
