"""Differential inverse kinematics you can run: the package behind the book *Out of Rank*.

Three lines follow a path under physics:

    import ikcourse as ik

    arm = ik.panda()
    run = ik.track(arm, ik.reach_and_return(arm, reach=0.70), ik.DampedLeastSquares(damping=1e-2))
"""

import os
import sys
from ctypes.util import find_library

if (
    sys.platform == "linux"
    and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    and find_library("EGL")
):
    # MuJoCo chooses its OpenGL when it is imported, and without a display only EGL can draw. Where there is no EGL the
    # choice stays open: MuJoCo told to use a library that is not there cannot even be imported.
    os.environ.setdefault("MUJOCO_GL", "egl")

from ikcourse import ellipsoid, inverse, jacobian, laws, nullspace, objectives, paths, priority, rotation, scenes
from ikcourse.arm import Arm
from ikcourse.box import BoxedLeastSquares, boxed_least_squares, velocity_box
from ikcourse.ellipsoid import jacobian_derivative, manipulability, manipulability_gradient
from ikcourse.inverse import (
    adaptive_damping,
    damped,
    damped_joint_space,
    damped_svd,
    pseudo_inverse,
    transpose,
    truncated,
)
from ikcourse.jacobian import (
    error_jacobian,
    finite_difference_error_jacobian,
    finite_difference_jacobian,
    jacobians_at,
    pose_error,
    site_jacobian,
    site_pose,
)
from ikcourse.laws import (
    AdaptiveDamping,
    DampedLeastSquares,
    Law,
    PseudoInverse,
    SelectivelyDamped,
    State,
    Transpose,
    TruncatedSVD,
)
from ikcourse.loop import Loop, Run, follow
from ikcourse.mink_qp import MinkQP
from ikcourse.nullspace import (
    damped_with_secondary,
    leak,
    leak_gain,
    limit_repulsion,
    posture,
    project,
)
from ikcourse.objectives import (
    LimitRepulsion,
    ManipulabilityGradient,
    PointTask,
    Posture,
    RecursivePriority,
    SecondTask,
)
from ikcourse.paths import Path, circle, hold, reach_and_return, recorded, wide_loop
from ikcourse.priority import priority_recursive, priority_robust
from ikcourse.scenes import panda, planar, planar2
from ikcourse.selective import selectively_damped
from ikcourse.speed_limits import SpeedLimited, clip_to_speed_limit, scale_to_speed_limit
from ikcourse.torque import ComputedTorque, OperationalSpace, inverse_dynamics
from ikcourse.track import Controller, droop, track
from ikcourse.track_many import track_many

__all__ = [
    "AdaptiveDamping",
    "Arm",
    "BoxedLeastSquares",
    "ComputedTorque",
    "Controller",
    "DampedLeastSquares",
    "Law",
    "LimitRepulsion",
    "Loop",
    "ManipulabilityGradient",
    "MinkQP",
    "OperationalSpace",
    "Path",
    "PointTask",
    "Posture",
    "PseudoInverse",
    "RecursivePriority",
    "Run",
    "SecondTask",
    "SelectivelyDamped",
    "SpeedLimited",
    "State",
    "Transpose",
    "TruncatedSVD",
    "adaptive_damping",
    "boxed_least_squares",
    "circle",
    "clip_to_speed_limit",
    "damped",
    "damped_joint_space",
    "damped_svd",
    "damped_with_secondary",
    "droop",
    "ellipsoid",
    "error_jacobian",
    "finite_difference_error_jacobian",
    "finite_difference_jacobian",
    "follow",
    "hold",
    "inverse",
    "inverse_dynamics",
    "jacobian",
    "jacobian_derivative",
    "jacobians_at",
    "laws",
    "leak",
    "leak_gain",
    "limit_repulsion",
    "manipulability",
    "manipulability_gradient",
    "nullspace",
    "objectives",
    "panda",
    "paths",
    "planar",
    "planar2",
    "pose_error",
    "posture",
    "priority",
    "priority_recursive",
    "priority_robust",
    "project",
    "pseudo_inverse",
    "reach_and_return",
    "recorded",
    "rotation",
    "scale_to_speed_limit",
    "scenes",
    "selectively_damped",
    "site_jacobian",
    "site_pose",
    "track",
    "track_many",
    "transpose",
    "truncated",
    "velocity_box",
    "wide_loop",
]
