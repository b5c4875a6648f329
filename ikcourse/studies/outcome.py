"""What every study of the reach measures in a run, as the columns of its table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ikcourse.loop import Run
from ikcourse.studies.ends import EndState, Reason, end
from ikcourse.studies.tables import measured


@dataclass(frozen=True)
class Outcome:
    """Measured columns, units in their names; a study's row adds its settings.

    Attributes:
        end_state, reason: as `ikcourse.studies.ends` tells them.
        drift_rad: the farthest that the joints came from home.
        final_error_m: distance of the tool from its target in the last step.
        peak_speed_rad_s: of the fastest joint commanded in any step.
        clipped_steps: in which the joint limits cut a setpoint.
        rms_position_m: root mean square of the distance from the target, over all steps.
    """

    end_state: EndState = measured()
    reason: Reason = measured()
    drift_rad: float = measured("{:.3f}", tolerance=0.002)
    final_error_m: float = measured("{:.5f}", tolerance=0.001)
    peak_speed_rad_s: float = measured("{:.2f}", tolerance=0.02)
    clipped_steps: int = measured()
    rms_position_m: float = measured("{:.5f}", tolerance=0.001)


def measures(run: Run) -> dict[str, Any]:
    """The values of an `Outcome`, by name."""
    ended = end(run)
    return {
        "end_state": ended.state,
        "reason": ended.reason,
        "drift_rad": float(run.distance_from_home.max()),
        "final_error_m": float(run.position_error[-1]),
        "peak_speed_rad_s": float(run.joint_speed.max()),
        "clipped_steps": int(run.clipped.sum()),
        "rms_position_m": float((run.position_error**2).mean() ** 0.5),
    }
