"""The collapse map as a picture: where every run ended, and a probability where single pixels mean nothing.

From `COIN_TOSS_BELOW` up a pixel is a run: blank where the arm came home, a ramp of the healthy colour for how far
behind, a ramp of the collapsed colour where it folded, by final error, and black where it is undecided. Below, the
share of runs of a block that did not come home is drawn instead: nobody should read those pixels one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ikcourse.show.style import COLOURS
from ikcourse.studies.collapse_map import Grid, Map
from ikcourse.studies.ends import HOME_ERROR, EndState
from ikcourse.studies.map_facts import COIN_TOSS_BELOW, in_state, lost

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

LAG, FOLD = (0.01, HOME_ERROR[0]), (0.1, 0.45)
"""Final errors between which the ramps run [m]: of an arm at home, where 0.01 is little more than droop, and folded."""
BLOCK = (1, 8)
"""Reaches and dampings whose runs share one probability: of one reach alone, so that none lies across its limit."""
BLACK = "#000000"


def picture(pixels: np.ndarray) -> np.ndarray:
    """The colour of each run, (..., 3) of 0 to 1, from pixels (...,) of a map."""
    error = np.asarray(pixels["final_error_m"], float)
    drawn = np.zeros((*error.shape, 3))  # black: undecided
    for state, ramp, span in ((EndState.HEALTHY, lag_ramp(), LAG), (EndState.COLLAPSED, fold_ramp(), FOLD)):
        chosen = in_state(pixels, state)
        drawn[chosen] = ramp(np.clip((error[chosen] - span[0]) / (span[1] - span[0]), 0, 1))[:, :3]
    return drawn


def lag_ramp() -> Colormap:
    """From blank, at home, to the healthy colour, far behind."""
    return _ramp("lag", "#FFFFFF", COLOURS["healthy"])


def fold_ramp() -> Colormap:
    """From a tint of the collapsed colour to a shade; darker is bleached where lightness is turned round."""
    return _ramp("fold", "#F3B183", COLOURS["collapsed"], "#B23000")


def share_ramp() -> Colormap:
    """From blank, all at home, to the peer's colour, nobody: no run's own colour, for a share is no run."""
    return _ramp("share", "#FFFFFF", COLOURS["peer"])


def pooled(flags: np.ndarray, block: tuple[int, int] = BLOCK) -> np.ndarray:
    """The share of each block in the place of its flags, (R, D) to (R, D); the last blocks may be smaller."""
    share = np.empty(flags.shape)
    for r in range(0, flags.shape[0], block[0]):
        for d in range(0, flags.shape[1], block[1]):
            here = slice(r, r + block[0]), slice(d, d + block[1])
            share[here] = flags[here].mean()
    return share


def share_by_damping(found: Map, gain: int) -> tuple[np.ndarray, np.ndarray]:
    """The share of runs that did not come home, over the reaches from the first of them on, and its standard error.

    Returns:
        (D,) and (D,); zeros where every run came home.
    """
    flags = lost(found.pixels[gain])
    reached = np.flatnonzero(flags.any(axis=1))
    if not len(reached):
        return np.zeros(flags.shape[1]), np.zeros(flags.shape[1])
    beyond = flags[reached[0] :]
    share = beyond.mean(axis=0)
    return share, np.sqrt(share * (1 - share) / len(beyond))


def draw_map(axes: Axes, found: Map, gain: int, reach_limit: float | None = None) -> None:
    """Draw the runs of one null-space gain, damping across and reach up.

    Args:
        axes: to draw into; its x is log10 of the damping.
        found: the map.
        gain: index into the map's gains.
        reach_limit: a distance to mark by a dotted line [m].
    """
    grid = found.grid
    pixels, tossed = found.pixels[gain], np.array(grid.dampings) < COIN_TOSS_BELOW
    drawn = picture(pixels)
    drawn[:, tossed] = share_ramp()(pooled(lost(pixels)[:, tossed]))[..., :3]
    left, right, low, high = _extent(grid)
    axes.imshow(drawn, extent=(left, right, low, high), origin="lower", aspect="auto", interpolation="nearest")
    axes.grid(False)
    if reach_limit is not None:
        axes.axhline(reach_limit, color=COLOURS["neutral"], ls=":", lw=1.3)
    axes.set(xlim=(left, right), ylim=(low, high))
    if tossed.any() and not tossed.all():
        axes.axvline(np.log10(COIN_TOSS_BELOW), color=COLOURS["neutral"], lw=0.8)


def draw_share(axes: Axes, found: Map, gain: int) -> None:
    """Draw the share of runs that did not come home over the damping, with two standard errors to either side."""
    share, error = share_by_damping(found, gain)
    x = np.log10(found.grid.dampings)
    axes.fill_between(x, share - 2 * error, share + 2 * error, color=COLOURS["peer"], alpha=0.25, lw=0)
    axes.plot(x, share, color=COLOURS["peer"], lw=1.2)
    axes.set(ylim=(0, 1), yticks=[0, 0.5, 1])


def map_figure(found: Map, reach_limit: float | None = None) -> Figure:
    """The map of every gain side by side, the share of runs that did not come home above, the keys below."""
    from matplotlib import pyplot as plt

    columns, (left, right, _, _) = len(found.grid.gains), _extent(found.grid)
    figure = plt.figure(figsize=(5.4, 5.6))
    rows = figure.add_gridspec(3, columns, height_ratios=(1, 3.2, 0.5))
    decades = np.arange(np.ceil(left), np.floor(right) + 1, 2)
    for gain, value in enumerate(found.grid.gains):
        above, below = figure.add_subplot(rows[0, gain]), figure.add_subplot(rows[1, gain])
        draw_share(above, found, gain)
        draw_map(below, found, gain, reach_limit)
        above.set(title=f"gain {value:g}", xlim=(left, right), xticks=decades, xticklabels=[])
        below.set(xlabel="damping λ", xticks=decades, xticklabels=[f"$10^{{{x:.0f}}}$" for x in decades])
        if gain:
            above.set(yticklabels=[])
            below.set(yticklabels=[])
        else:
            above.set(ylabel="not home")
            below.set(ylabel="reach [m]")
    _draw_keys(figure.add_subplot(rows[2, :]))
    return figure


def _draw_keys(axes: Axes) -> None:
    """One bar a ramp, and a patch for the undecided, in a row."""
    axes.set(xlim=(0, 4), ylim=(0, 1))
    axes.set_axis_off()
    bars = (
        (share_ramp(), "share not home", "0", "1"),
        (lag_ramp(), "home, behind", f"{LAG[0]:g}", f"{LAG[1]:g} m"),
        (fold_ramp(), "folded, error", f"{FOLD[0]:g}", f"{FOLD[1]:g} m"),
    )
    for place, (ramp, words, first, last) in enumerate(bars):
        shade = ramp(np.linspace(0, 1, 64))[None, :, :3]
        axes.imshow(shade, extent=(place, place + 0.85, 0.4, 0.75), aspect="auto")
        _frame(axes, place, 0.85)
        axes.text(place, 0.8, words, va="bottom", fontsize=10)
        axes.text(place, 0.35, first, va="top", fontsize=10)
        axes.text(place + 0.85, 0.35, last, va="top", ha="right", fontsize=10)
    axes.fill_between([3.0, 3.2], 0.4, 0.75, color=BLACK, lw=0)
    axes.text(3.0, 0.8, "undecided", va="bottom", fontsize=10)
    axes.set(xlim=(0, 3.9), ylim=(0, 1.2))


def _frame(axes: Axes, place: float, width: float) -> None:
    corners = np.array([[0, 0.4], [width, 0.4], [width, 0.75], [0, 0.75], [0, 0.4]]) + [place, 0]
    axes.plot(*corners.T, color=COLOURS["neutral"], lw=0.6)


def _extent(grid: Grid) -> tuple[float, float, float, float]:
    """Edges of the picture: half a step beyond the grid's first and last points, log10 of the damping and [m]."""
    if len(grid.dampings) < 2 or len(grid.reaches) < 2:
        raise ValueError(
            f"a map is drawn from at least 2 dampings and 2 reaches; got {len(grid.dampings)} and {len(grid.reaches)}"
        )
    edges: list[float] = []
    for points in (np.log10(grid.dampings), np.array(grid.reaches)):
        steps = np.diff(points)
        if not np.allclose(steps, steps[0], rtol=1e-6, atol=0):
            raise ValueError("a map is drawn from dampings in equal ratios and reaches in equal steps")
        edges += [float(points[0] - steps[0] / 2), float(points[-1] + steps[-1] / 2)]
    return edges[0], edges[1], edges[2], edges[3]


def _ramp(name: str, *colours: str) -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(name, colours)
