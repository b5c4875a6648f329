"""Experiments for Jupyter: turn the damping of the Panda's reach, or bend a planar arm, and see what follows."""

from __future__ import annotations

import html
import math
from typing import Any

import numpy as np

from ikcourse.laws import DampedLeastSquares
from ikcourse.loop import Run
from ikcourse.paths import REACH, reach_and_return
from ikcourse.scenes import panda, planar
from ikcourse.show.explorer import Explorer, new_figure
from ikcourse.show.explorer_plots import (
    condition_numbers,
    draw_posture,
    draw_runs,
    ending,
    posture_panels,
    run_panels,
    singular_directions,
)
from ikcourse.show.films import film
from ikcourse.track import track

SPEED_BOUNDS = {"off": math.inf, "5": 5.0, "2": 2.0, "1": 1.0, "0.5": 0.5, "0.2": 0.2}
"""Positions of the speed bound's slider [rad/s]; a selection slider knows no None."""


FILM: dict[str, Any] = {"fps": 10, "width": 320, "height": 320}
"""Half the frames of the book's films, and smaller: a reader waits for this one."""


class DampingExplorer(Explorer):
    """The Panda's reach at any damping: every change is a whole run under physics.

    Attributes:
        run: of the values that the controls show; None where it failed.
        film: the run as a film, once it was asked for.
    """

    run: Run | None

    def __init__(self) -> None:
        import ipywidgets

        controls = {
            "damping": ipywidgets.FloatLogSlider(
                1e-3, min=-6, max=0, step=0.05, description="damping λ", readout_format=".2e"
            ),
            "reach": ipywidgets.FloatSlider(
                REACH, min=0.5, max=0.8, step=0.005, description="reach [m]", readout_format=".3f"
            ),
            "nullspace_gain": ipywidgets.FloatSlider(
                0, min=0, max=150, step=0.5, description="null-space gain [1/s]", readout_format=".1f"
            ),
            "max_joint_speed": ipywidgets.SelectionSlider(
                options=list(SPEED_BOUNDS.items()), value=math.inf, description="speed bound [rad/s]"
            ),
        }
        self.arm, self.run, self.film = panda(), None, ipywidgets.HTML()
        self.button = ipywidgets.Button(description="Replay film", tooltip="Draw this run as a film: a few seconds")
        self.button.on_click(lambda _button: self.replay())
        super().__init__(controls, [self.button], [self.film])
        self.figure = new_figure(5.6, 4.3)
        self.panels = run_panels(self.figure)
        self._refresh()

    def _answer(self) -> tuple[str, str]:
        # A film of other values must not stay, nor a run if this one fails.
        self.run, self.film.value, self.button.disabled = None, "", True
        law = DampedLeastSquares(self.value("damping"), self.value("nullspace_gain"))
        path = reach_and_return(self.arm, self.value("reach"))
        bound = self.value("max_joint_speed")
        run = track(self.arm, path, law, max_joint_speed=bound if math.isfinite(bound) else None)
        draw_runs(self.panels, [run])
        self.run, self.button.disabled = run, False
        return (
            f"Plots over time for {self.setting()}: position error, fastest joint, condition number, clipped steps.",
            f"With {self.setting()} the arm {ending(run)[0]}. It ends {1000 * run.position_error[-1]:.1f} mm from "
            f"the target. Its joints drift up to {run.distance_from_home.max():.2f} rad from home, the fastest is "
            f"commanded {run.joint_speed.max():.2f} rad/s, cond(J) reaches {condition_numbers(run).max():.1e}, and "
            f"{run.clipped.sum()} of {len(run.times)} steps are clipped.",
        )

    def setting(self) -> str:
        """The values of the controls in words."""
        bound = self.value("max_joint_speed")
        bounded = "no speed bound" if math.isinf(bound) else f"at most {bound:g} rad/s"
        return (
            f"λ = {self.value('damping'):.3g}, reach {self.value('reach'):.3f} m, null-space gain "
            f"{self.value('nullspace_gain'):g}/s and {bounded}"
        )

    def replay(self) -> None:
        """Draw the run as a film below the plots, or say there why there is none."""
        if self.run is None:
            return
        self.button.disabled, self.film.value = True, '<div role="status">Drawing the film: a few seconds.</div>'
        alt = f"The Panda reaches out and back. {self.words}"
        label = f"lambda = {self.value('damping'):.3g}: {ending(self.run)[0]}"
        try:
            self.film.value = film([self.run], [label], alt, **FILM).data
        except Exception as error:  # as in `_refresh`: said here or nowhere
            self.film.value = f'<div role="alert">No film: {html.escape(str(error))}</div>'
        self.button.disabled = False


class EllipseExplorer(Explorer):
    """A planar arm of two links: its velocity ellipse, its singular values, and what damping makes of them."""

    def __init__(self) -> None:
        import ipywidgets

        # 3.14 and not pi, so that the steps of 0.01 rad meet zero.
        angle: dict[str, Any] = {"min": -3.14, "max": 3.14, "step": 0.01, "readout_format": ".2f"}
        controls = {
            "shoulder": ipywidgets.FloatSlider(0.4, description="joint 1 [rad]", **angle),
            "elbow": ipywidgets.FloatSlider(-0.8, description="joint 2 [rad]", **angle),
            "damping": ipywidgets.FloatLogSlider(
                0.1, min=-3, max=0, step=0.05, description="damping λ [m]", readout_format=".2e"
            ),
        }
        straighten = ipywidgets.Button(description="Straighten", tooltip="Both joints to exactly 0 rad")
        straighten.on_click(lambda _button: self.set(shoulder=0.0, elbow=0.0))
        super().__init__(controls, [straighten])
        self.arm, self.figure = planar(2), new_figure(6.2, 3.5)
        self.panels = posture_panels(self.figure)
        self._refresh()

    def _answer(self) -> tuple[str, str]:
        q, damping = np.array([self.value("shoulder"), self.value("elbow")]), self.value("damping")
        if not (np.isfinite(q).all() and np.isfinite(damping)):
            raise ValueError(f"joint angles and damping must be finite; got {q} rad and {damping}")
        draw_posture(self.panels, self.arm, q, damping)
        directions, sigma = singular_directions(self.arm, q)
        gains = sigma / (sigma**2 + damping**2)
        words = (
            f"At q = ({q[0]:.2f}, {q[1]:.2f}) rad a joint velocity of norm 1 rad/s moves the tool at {sigma[0]:.3g} "
            f"m/s in its fastest direction and at {sigma[1]:.3g} m/s in its slowest. With λ = {damping:.3g} an error "
            f"of one metre is answered by {gains[0]:.3g} and {gains[1]:.3g} rad/s; no direction gets more than "
            f"{1 / (2 * damping):.3g} rad/s."
        )
        if sigma[1] == 0:
            lost = directions[:, 1]
            x, y = np.round(lost * np.sign(lost[np.argmax(np.abs(lost))]), 2) + 0.0  # no minus before a zero
            words += f" The direction ({x:.2f}, {y:.2f}) is missing: no joint velocity moves the tool along it."
        alt = "A planar arm with the velocity ellipse at its tool, and two bars, one for each singular direction."
        return alt, words


def damping_explorer() -> DampingExplorer:
    """Open the damping explorer: the Panda's reach, a slider each for damping, reach, null-space gain, speed bound."""
    return DampingExplorer()


def ellipse_explorer() -> EllipseExplorer:
    """Open the ellipse explorer: a planar arm of two links, a slider each for its joints and for the damping."""
    return EllipseExplorer()
