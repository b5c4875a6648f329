"""What an explorer and the still figure beside it draw: runs over time, and a posture with its ellipse and its filter.

Axes are fixed, so that two settings compare; what is drawn on them is taken away and drawn again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ikcourse.arm import Arm
from ikcourse.jacobian import jacobians_at, site_jacobian
from ikcourse.loop import Run
from ikcourse.show.figures import draw_ellipse, draw_planar_arm
from ikcourse.show.style import COLOURS
from ikcourse.studies.ends import end

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = {"healthy": ("comes home", "healthy"), "collapse": ("folds", "collapsed")}
"""How the studies' end states are said and coloured; any other is said as it is called, with its reason."""
ELLIPSE_SCALE = 0.3
"""Drawn [m] of the posture's ellipse for each [m/s]."""


def ending(run: Run) -> tuple[str, str]:
    """How a run of the Panda ends in words, and the name of its colour."""
    ended = end(run)
    return ENDINGS.get(ended.state.value, (f"ends {ended.state.value}, {ended.reason.value}", "neutral"))


@lru_cache(maxsize=8)
def condition_numbers(run: Run) -> np.ndarray:
    """cond(J) in the postures that the control steps read, (T,)."""
    return np.linalg.cond(jacobians_at(run.arm, run.q[:-1]))


def run_panels(figure: Figure) -> list[Axes]:
    """Four empty panels over time: position error, fastest joint, cond(J), clipped steps so far."""
    panels = list(figure.subplots(2, 2, sharex=True).flat)
    titles = "position error [m]", "fastest joint [rad/s]", "cond(J)", "clipped steps so far"
    decades = range(-3, 1), range(-2, 5, 2), range(0, 9, 2)
    for axes, title in zip(panels, titles, strict=True):
        axes.set(title=title, xlim=(0, 6), xticks=range(0, 7, 2))
    for axes, powers in zip(panels, decades, strict=False):
        axes.set(yscale="log", ylim=(10.0 ** powers[0], 10.0 ** powers[-1]))
        _label_decades(axes, powers)
    panels[3].set_yscale("symlog", linthresh=10)
    panels[3].set_ylim(-1, 4000)
    panels[3].set_yticks([0, 10, 100, 1000], ["0", "10", "100", "1000"], minor=False)
    panels[3].yaxis.minorticks_off()
    for axes in panels[2:]:
        axes.set_xlabel("time [s]")
    return panels


def draw_runs(panels: Sequence[Axes], runs: Sequence[Run], labels: Sequence[str] = ()) -> None:
    """Draw runs of the Panda on the four panels of `run_panels`, in place of what is there, coloured by their end.

    Args:
        panels: from `run_panels`.
        runs: one line each; of those with the same end the first is solid, the next dashed, then dotted.
        labels: a name for each, for a legend.
    """
    before: list[str] = []
    for axes in panels:
        _wipe(axes)
    for index, run in enumerate(runs):
        colour = ending(run)[1]
        dashes = ("-", (0, (4, 1.5)), (0, (1, 1)))[before.count(colour) % 3]
        before.append(colour)
        traces = run.position_error, run.joint_speed, condition_numbers(run), np.cumsum(run.clipped)
        for axes, trace in zip(panels, traces, strict=True):
            (line,) = axes.plot(run.times, trace, color=COLOURS[colour], ls=dashes, lw=1.6)
            line.set_label(labels[index] if labels else "_")


def compare_runs(runs: Sequence[Run], names: Sequence[str]) -> Figure:
    """A still of the damping explorer: runs of the Panda over one another, each named with its end.

    Raises:
        ValueError: there is no run, or not one name for each.
    """
    from matplotlib.figure import Figure

    if not runs or len(names) != len(runs):
        raise ValueError(f"need at least one run and a name for each; got {len(runs)} runs, {len(names)} names")
    figure = Figure(figsize=(5.2, 4.6))
    panels = run_panels(figure)
    draw_runs(panels, runs, [f"{name}: {ending(run)[0]}" for name, run in zip(names, runs, strict=True)])
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=2, handlelength=2.4)
    return figure


def posture_panels(figure: Figure) -> list[Axes]:
    """Two empty panels: the plane that the arm of two one-metre links moves in, and its filter factors."""
    plane, bars = figure.subplots(1, 2, width_ratios=(1.25, 1))
    plane.set(aspect="equal", xlim=(-2.7, 2.7), ylim=(-2.7, 2.7), xticks=range(-2, 3), yticks=range(-2, 3))
    plane.set(xlabel="x [m]", ylabel="y [m]")
    bars.set(yscale="log", ylim=(1e-2, 2e3), xlim=(-0.5, 2.3), xticks=(0, 1), title="σ/(σ²+λ²) [rad/m]")
    _label_decades(bars, range(-2, 4))
    bars.grid(False, axis="x")
    bars.set_axisbelow(True)
    return [plane, bars]


def draw_posture(panels: Sequence[Axes], arm: Arm, q: np.ndarray, damping: float) -> None:
    """Draw a planar arm with its velocity ellipse and filter factors on `posture_panels`, in place of what is there.

    Across each bar a line marks what the exact inverse would ask for, 1 / sigma; dashed is the ceiling 1 / (2 lambda).

    Args:
        panels: from `posture_panels`.
        arm: of two links.
        q: its joints, (2,) [rad].
        damping: lambda, > 0.
    """
    plane, bars = panels
    _wipe(plane)
    _wipe(bars)
    directions, sigma = singular_directions(arm, q)
    healthy, missing, neutral = COLOURS["healthy"], COLOURS["collapsed"], COLOURS["neutral"]
    tool = draw_planar_arm(plane, arm, q)
    draw_ellipse(plane, site_jacobian(arm, arm.data(q))[:2], tool, scale=ELLIPSE_SCALE)
    for direction, value in zip(directions.T, sigma, strict=True):
        half = ELLIPSE_SCALE * value * direction if value else 0.6 * direction
        ends = np.stack([tool - half, tool + half])
        style: dict[str, Any] = {"color": neutral, "lw": 1.2} if value else {"color": missing, "lw": 2.2, "ls": ":"}
        plane.plot(*ends.T, zorder=4, **style)
        if not value:
            plane.annotate(
                "missing", (tool[0], tool[1]), (-8, -16), textcoords="offset points", ha="right", color=missing
            )
    plane.plot(*tool, "o", ms=5, color=healthy, zorder=6)

    gains = sigma / (sigma**2 + damping**2)
    bars.axhline(1 / (2 * damping), color=neutral, lw=1.2, ls="--")
    bars.text(1.45, 1 / (2 * damping) * 1.2, "1/(2λ)", color=neutral)
    bars.set_xticks([0, 1], [f"σ{name}\n{value:.2g} m" for name, value in zip("₁₂", sigma, strict=True)])
    for place, (gain, value) in enumerate(zip(gains, sigma, strict=True)):
        bars.bar(place, gain, width=0.7, color=healthy)
        shade = "white" if gain > 0.05 else neutral if value else missing
        bars.text(place, 0.012, f"{gain:.2g}", ha="center", va="bottom", color=shade, size=10)
        if value:
            bars.plot([place - 0.42, place + 0.42], [1 / value] * 2, color=COLOURS["exact"], lw=2.2)


def singular_directions(arm: Arm, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """U (2, 2), its columns tool directions, and sigma (2,) of a planar arm at q; what is rounding counts as zero."""
    U, sigma, _ = np.linalg.svd(site_jacobian(arm, arm.data(q))[:2])
    tolerance = 2 * np.finfo(float).eps * sigma[0]
    return U, np.where(sigma > tolerance, sigma, 0.0)


def compare_postures(arm: Arm, postures: Sequence[np.ndarray], damping: float) -> Figure:
    """A still of the ellipse explorer: postures of a planar arm of two links, one a row, at one damping.

    Raises:
        ValueError: there is no posture.
    """
    from matplotlib.figure import Figure

    if not len(postures):
        raise ValueError("need at least one posture, (2,) [rad]")
    figure = Figure(figsize=(5.2, 2.3 * len(postures)))
    rows = figure.subfigures(len(postures), 1, squeeze=False)[:, 0]
    for part, q in zip(rows, postures, strict=True):
        panels = posture_panels(part)
        panels[0].set(xlim=(-0.3, 2.9), ylim=(-0.85, 1.15), xticks=range(3), yticks=range(2))
        panels[0].set_title(f"q = ({q[0]:.2g}, {q[1]:.2g}) rad".replace("-", "−"))
        draw_posture(panels, arm, np.asarray(q, float), damping)
    return figure


def _label_decades(axes: Axes, powers: range) -> None:
    """Ticks at powers of ten, labelled in plain text: mathtext would take half of the time of a redraw."""
    superscript = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    axes.set_yticks([10.0**power for power in powers], [f"10{str(power).translate(superscript)}" for power in powers])
    axes.yaxis.minorticks_off()


def _wipe(axes: Axes) -> None:
    for artist in [*axes.lines, *axes.patches, *axes.texts]:
        artist.remove()
