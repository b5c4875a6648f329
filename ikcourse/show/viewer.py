"""The Panda in MuJoCo's own viewer, its target in your hand."""

from __future__ import annotations

import os
import sys
import time
import warnings

from ikcourse.arm import Arm
from ikcourse.laws import Law
from ikcourse.track import Controller

BACKSPACE = 259
"""GLFW's code of the key that resets."""
FRAMES_A_SECOND = 60


def follow_mocap(controller: Controller) -> None:
    """One control step towards the mocap body of the simulation that is driven, wherever it was dragged."""
    controller.step(controller.data.mocap_pos[0], controller.data.mocap_quat[0])


def view(arm: Arm, law: Law, integration_dt: float = 0.5, max_joint_speed: float | None = 1.0) -> None:
    """Run the control loop in the viewer until its window is closed.

    Double-click the target, then drag it with Ctrl and the right mouse button (left turns it). Backspace resets.

    Args:
        arm: an arm on a stage with a mocap target.
        law, integration_dt, max_joint_speed: as `Controller`.

    Raises:
        RuntimeError: there is no display, or the viewer cannot open its window.
        ValueError: as `Controller`, or the model has no mocap body.
    """
    if arm.model.nmocap == 0:
        raise ValueError("the viewer needs a mocap body to drag; this model has none")
    controller = Controller(arm, law, arm.data(), integration_dt, max_joint_speed)
    _require_display()
    import mujoco.viewer

    pressed: list[int] = []
    try:
        window = mujoco.viewer.launch_passive(
            arm.model, controller.data, key_callback=pressed.append, show_left_ui=False, show_right_ui=False
        )
    except Exception as error:
        raise RuntimeError(f"MuJoCo's viewer could not open a window: {error}") from error
    print("Double-click the target, then Ctrl + right-drag moves it and Ctrl + left-drag turns it. Backspace resets.")
    timestep = arm.model.opt.timestep
    steps_a_frame = max(1, round(1 / (FRAMES_A_SECOND * timestep)))
    with window:
        while window.is_running():
            began = time.perf_counter()
            with window.lock():
                if BACKSPACE in pressed:
                    pressed.clear()
                    arm.reset(controller.data)
                for _ in range(steps_a_frame):
                    follow_mocap(controller)
            window.sync()
            time.sleep(max(0.0, steps_a_frame * timestep - (time.perf_counter() - began)))


def _require_display() -> None:
    """MuJoCo's viewer ends the whole process where its window cannot open, so that is tried first."""
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise RuntimeError(
            "the viewer needs a display, and this session has none (DISPLAY and WAYLAND_DISPLAY are not set). "
            "Run it on a desktop, or through `ssh -X`; `python -m ikcourse damping` needs no display."
        )
    if sys.platform == "linux":
        import glfw

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opened = glfw.init()
        if not opened:
            raise RuntimeError("the viewer cannot open a window on the display that DISPLAY or WAYLAND_DISPLAY names")
