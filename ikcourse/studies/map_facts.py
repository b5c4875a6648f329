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


@dataclass(frozen=True)
class Share:
    """A share of folded runs, and how far it varies.

    Attributes:
        runs: how many runs it is of.
        folded: the share.
        error: standard error, from how the share varies between the reaches.
        spread: standard deviation between the reaches, and what tosses of one coin would show, `expected`.
        unlike: share of neighbouring pairs, in damping, that end differently; `by_chance` if each were tossed alone.
    """

    runs: int
    folded: float
    error: float
    spread: float
    expected: float
    unlike: float
    by_chance: float


def share(folded: np.ndarray) -> Share:
    """The share of a block of runs (reaches, dampings) of bool."""
    by_reach = folded.mean(axis=1)
    p = float(folded.mean())
    return Share(
        runs=folded.size,
        folded=p,
        error=float(by_reach.std(ddof=1) / len(by_reach) ** 0.5),
        spread=float(by_reach.std(ddof=1)),
        expected=float((p * (1 - p) / folded.shape[1]) ** 0.5),
        unlike=float((folded[:, 1:] != folded[:, :-1]).mean()),
        by_chance=2 * p * (1 - p),
    )


def first_fold(found: Map, gain: int) -> float | None:
    """The shortest reach at which a run of this gain's map folds [m]; None where none does."""
    rows = in_state(found.pixels[gain], EndState.COLLAPSED).any(axis=1)
    return found.grid.reaches[int(np.argmax(rows))] if rows.any() else None


def tongue(found: Map, gain: int, row: int) -> tuple[float, float] | None:
    """Least and greatest damping of the unbroken run of folded pixels that ends at the row's greatest folded damping.

    Each edge is known to one step of the grid. None where nothing above the coin toss folds.
    """
    folded = in_state(found.pixels[gain, row], EndState.COLLAPSED)
    where = np.flatnonzero(folded)
    if not len(where) or found.grid.dampings[where[-1]] < COIN_TOSS_BELOW:
        return None
    gaps = np.flatnonzero(~folded[: where[-1]])
    first = gaps[-1] + 1 if len(gaps) else 0
    return found.grid.dampings[first], found.grid.dampings[where[-1]]


def coin_toss(found: Map, gain: int) -> Share | None:
    """The folded share below lambda 1e-3, over the reaches from the first fold on; None where too few are left."""
    start = first_fold(found, gain)
    low = np.array(found.grid.dampings) < COIN_TOSS_BELOW
    rows = np.array(found.grid.reaches) >= (np.inf if start is None else start)
    if rows.sum() < 2 or low.sum() < 2:
        return None
    return share(in_state(found.pixels[gain], EndState.COLLAPSED)[rows][:, low])


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
                    f"Gain {gain:g}, reach {1e3 * grid.reaches[row]:.2f} mm: folded without a gap from lambda "
                    f"{edges[0]:.3g} to {edges[1]:.3g}, each to a factor {factor:.4f}."
                )
        toss = coin_toss(found, g)
        if toss is not None:
            said.append(
                f"Gain {gain:g}, lambda below {COIN_TOSS_BELOW:g}, from the first fold on: {toss.folded:.1%} of "
                f"{toss.runs} runs fold (standard error {toss.error:.1%}); between reaches the share spreads by "
                f"{toss.spread:.1%}, where tosses of one coin would by {toss.expected:.1%}; neighbours in damping "
                f"differ in {toss.unlike:.1%} of pairs, by chance they would in {toss.by_chance:.1%}."
            )
    return [*said, *_panel_facts(found)]


def _panel_facts(found: Map) -> list[str]:
    reaches = np.array(found.grid.panel_reaches)
    folded = in_state(found.panel, EndState.COLLAPSED)
    if not folded.any():
        return [f"Panel at lambda {found.grid.panel_damping:g}: none of {len(reaches)} runs folds."]
    beyond = folded[int(np.argmax(folded)) :]
    if len(beyond) < 2:
        return [f"Panel at lambda {found.grid.panel_damping:g}: only the last of {len(reaches)} runs folds."]
    p = float(beyond.mean())
    unlike = float((beyond[1:] != beyond[:-1]).mean())
    error, apart = (p * (1 - p) / len(beyond)) ** 0.5, 1e6 * float(np.diff(reaches).mean())
    return [
        f"Panel at lambda {found.grid.panel_damping:g}: {len(reaches)} reaches {apart:.1f} um apart; the first fold is "
        f"at {1e3 * reaches[int(np.argmax(folded))]:.2f} mm, beyond it {p:.1%} fold (standard error {error:.1%}); "
        f"neighbours differ in {unlike:.1%} of pairs, by chance they would in {2 * p * (1 - p):.1%}; "
        f"{found.panel['sensitive'].mean():.1%} are sensitive."
    ]
