"""What the collapse map says: where runs fold, the edges of the solid tongue, and the coin toss below it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ikcourse.studies.collapse_map import STATES, Map
from ikcourse.studies.ends import EndState

COIN_TOSS_BELOW = 1e-3
"""Below this lambda the end of a run depends on more than the map resolves."""
EDGES_AT = (0.700, 0.705, 0.710, 0.715, 0.720, 0.725, 0.730, 0.735, 0.740)


def in_state(pixels: np.ndarray, state: EndState) -> np.ndarray:
    """Which pixels ended so, a bool each."""
    return pixels["state"] == STATES.index(state)


def lost(pixels: np.ndarray) -> np.ndarray:
    """Which runs did not come home, folded or undecided, a bool each."""
    return ~in_state(pixels, EndState.HEALTHY)


@dataclass(frozen=True)
class Share:
    """The share of runs that are lost, and how far it varies.

    Attributes:
        runs: how many runs it is of.
        lost: the share.
        error: standard error, from how the share varies between the rows.
        spread: standard deviation between the rows, and what tosses of one coin would show, `expected`.
        unlike: share of neighbouring pairs in a row that end differently; `by_chance` if each were tossed alone.
    """

    runs: int
    lost: float
    error: float
    spread: float
    expected: float
    unlike: float
    by_chance: float


def share(flags: np.ndarray) -> Share:
    """The share of a block of runs, (rows, runs in a row) of bool."""
    by_row = flags.mean(axis=1)
    p = float(flags.mean())
    return Share(
        runs=flags.size,
        lost=p,
        error=float(by_row.std(ddof=1) / len(by_row) ** 0.5),
        spread=float(by_row.std(ddof=1)),
        expected=float((p * (1 - p) / flags.shape[1]) ** 0.5),
        unlike=float((flags[:, 1:] != flags[:, :-1]).mean()),
        by_chance=2 * p * (1 - p),
    )


def first_fold(found: Map, gain: int) -> float | None:
    """The shortest reach at which a run of this gain's map folds [m]; None where none does."""
    rows = in_state(found.pixels[gain], EndState.COLLAPSED).any(axis=1)
    return found.grid.reaches[int(np.argmax(rows))] if rows.any() else None


def tongue(found: Map, gain: int, row: int) -> tuple[float, float] | None:
    """Least and greatest damping of the unbroken run of lost pixels that ends at the row's greatest lost damping.

    A heavily damped arm may still be on its way down when the run ends: such undecided runs belong to the tongue. Each
    edge is known to one step of the grid. None where nothing above the coin toss is lost.
    """
    flags = lost(found.pixels[gain, row])
    where = np.flatnonzero(flags)
    if not len(where) or found.grid.dampings[where[-1]] < COIN_TOSS_BELOW:
        return None
    gaps = np.flatnonzero(~flags[: where[-1]])
    first = gaps[-1] + 1 if len(gaps) else 0
    return found.grid.dampings[first], found.grid.dampings[where[-1]]


def coin_toss(found: Map, gain: int) -> tuple[Share, Share] | None:
    """The share below lambda 1e-3, from the shortest reach that loses anybody on: by reaches, and by dampings.

    None where fewer than two reaches or dampings are left.
    """
    flags = lost(found.pixels[gain])
    low = np.array(found.grid.dampings) < COIN_TOSS_BELOW
    beyond = np.flatnonzero(flags.any(axis=1))
    block = flags[beyond[0] :, low] if len(beyond) else flags[:0, low]
    return None if min(block.shape) < 2 else (share(block), share(block.T))


def facts(found: Map) -> list[str]:
    """The sentences of FACTS.md."""
    grid = found.grid
    steps = np.diff(np.log10(grid.dampings)), np.diff(grid.reaches)
    factor, step = 10 ** float(steps[0].mean()), float(steps[1].mean())
    said = [
        f"{len(grid.dampings)} dampings from {grid.dampings[0]:.0e} to {grid.dampings[-1]:g}, a factor "
        f"{factor:.4f} apart; {len(grid.reaches)} reaches from {grid.reaches[0]:g} to {grid.reaches[-1]:g} m, "
        f"{1e3 * step:.3f} mm apart; every run with a twin 1 nm farther out. The built-in model."
    ]
    for g, gain in enumerate(grid.gains):
        pixels = found.pixels[g]
        counts = ", ".join(f"{in_state(pixels, state).sum()} {state.value}" for state in STATES)
        said.append(f"Gain {gain:g}: {pixels.size} runs, {counts}; {pixels['sensitive'].sum()} sensitive.")
        start = first_fold(found, g)
        said.append(
            f"Gain {gain:g}: "
            + ("no run folds." if start is None else f"the shortest reach that folds anybody is {1e3 * start:.2f} mm.")
        )
        for row in sorted({int(np.argmin(np.abs(np.array(grid.reaches) - reach))) for reach in EDGES_AT}):
            edges = tongue(found, g, row)
            if edges is not None:
                said.append(
                    f"Gain {gain:g}, reach {1e3 * grid.reaches[row]:.2f} mm: nobody comes home from lambda "
                    f"{edges[0]:.3g} to {edges[1]:.3g}, each edge to a factor {factor:.4f}."
                )
        toss = coin_toss(found, g)
        if toss is not None:
            rows, columns = toss
            said.append(
                f"Gain {gain:g}, lambda below {COIN_TOSS_BELOW:g}, from the first loss on: {rows.lost:.1%} of "
                f"{rows.runs} runs do not come home (standard error {rows.error:.1%}). Between reaches the share "
                f"spreads by {rows.spread:.1%}, where tosses of one coin would by {rows.expected:.1%}. "
                f"Neighbours in reach differ in {columns.unlike:.1%} of pairs, in damping in {rows.unlike:.1%}; "
                f"by chance they would in {rows.by_chance:.1%}."
            )
    return [*said, *_panel_facts(found)]


def _panel_facts(found: Map) -> list[str]:
    reaches, flags = np.array(found.grid.panel_reaches), lost(found.panel)
    panel = f"Panel at lambda {found.grid.panel_damping:g}: "
    if not flags.any():
        return [panel + f"all of {len(reaches)} runs come home."]
    first = int(np.argmax(flags))
    beyond = flags[first:]
    if len(beyond) < 2:
        return [panel + f"only the last of {len(reaches)} runs does not come home."]
    p, unlike = float(beyond.mean()), float((beyond[1:] != beyond[:-1]).mean())
    error, apart = (p * (1 - p) / len(beyond)) ** 0.5, 1e6 * float(np.diff(reaches).mean())
    return [
        f"{panel}{len(reaches)} reaches {apart:.1f} um apart; the first loss is at {1e3 * reaches[first]:.2f} mm, "
        f"beyond it {p:.1%} do not come home (standard error {error:.1%}); neighbours differ in {unlike:.1%} of pairs, "
        f"by chance they would in {2 * p * (1 - p):.1%}; {found.panel['sensitive'].mean():.1%} are sensitive."
    ]
