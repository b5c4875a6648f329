"""Guards at the boundary: what a caller can get wrong is refused in words, and nothing changes under a run."""

import subprocess
import sys
import textwrap

import mujoco
import numpy as np
import pytest

import ikcourse as ik
from ikcourse.studies import damping as study
from ikcourse.studies import tables
from ikcourse.track import Controller

ARM = ik.panda()


def child(code):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)


@pytest.mark.parametrize(
    "call", ["ik.Arm.from_model(arm.model, None)", "ik.Arm.from_model(arm.model, 'end_effector', [None])"]
)
def test_a_name_that_is_none_is_refused_not_a_crash(call):
    done = child(f"""
        import ikcourse as ik
        arm = ik.panda()
        try:
            {call}
        except ValueError:
            print("refused")
        """)
    assert done.stdout.strip() == "refused", done.returncode


@pytest.mark.parametrize(
    "call", ["ik.site_jacobian(arm, other)", "arm.reset(other)", "Controller(arm, ik.DampedLeastSquares(), other)"]
)
def test_data_of_another_model_is_refused(call):
    done = child(f"""
        import mujoco, ikcourse as ik
        from ikcourse.track import Controller
        arm = ik.panda(); other = mujoco.MjData(ik.planar(30).model)
        try:
            {call}
        except ValueError:
            print('refused')
        """)
    assert "refused" in done.stdout, done.returncode


def test_rk4_is_not_integrated_by_euler_in_silence():
    arm = ik.panda()
    arm.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    with pytest.raises(ValueError, match="RK4"):
        Controller(arm, ik.DampedLeastSquares())


def test_an_absent_twist_is_zero_and_not_the_last_one():
    seen = []

    class Spy:
        def bind(self, arm):
            def step(state):
                seen.append(state.target_twist.copy())
                return np.zeros(arm.n)

            return step

    c = Controller(ARM, Spy())
    p, q = ik.site_pose(ARM, c.data)
    c.step(p, q, np.ones(6))
    c.step(p, q)
    assert (seen[1] == 0).all()


def test_a_batch_of_zero_dampings_keeps_its_axis():
    J, v = np.random.default_rng(0).normal(size=(6, 7)), np.ones(7)
    assert ik.project(J, v, np.ones(2)).shape == (2, 7)
    assert ik.project(J, v, np.zeros(2)).shape == (2, 7)
    assert ik.damped_with_secondary(J, np.ones(6), v, np.zeros(2)).shape == (2, 7)


@pytest.mark.parametrize("limit", [0.0, -1.0, np.nan, [1.0, 0.0]])
def test_a_speed_limit_that_is_none_is_refused(limit):
    with pytest.raises(ValueError, match="limit"):
        ik.scale_to_speed_limit(np.array([5.0, 0.0]), np.asarray(limit))


def test_the_bound_is_the_one_that_was_checked():
    bound = np.full(7, 1.0)
    c = Controller(ARM, ik.DampedLeastSquares(1e-4), max_joint_speed=bound)
    bound[:] = 1e9
    p, q = ik.site_pose(ARM, c.data)
    assert np.abs(c.step(p + [0.5, 0, 0], q)[0]).max() <= 1 + 1e-12


def test_a_path_does_not_change_under_a_run():
    t, p = np.arange(20) * 0.002, np.zeros((20, 3))
    path = ik.recorded(t, p, np.tile([1.0, 0, 0, 0], (20, 1)))
    p[:] = 9
    t[:] = 0
    assert (path.positions == 0).all()
    assert path.times[-1] > 0


@pytest.mark.parametrize("line", ["builtin,1e-2,healthy,,1,1,1,1,1,9", "builtin,1e-2,healthy,,1,1,1,1"])
def test_a_row_too_short_or_long_is_a_value_error(tmp_path, line):
    file = tmp_path / "t.csv"
    file.write_text(",".join(tables.header(study.Row)) + f"\n{line}\n")
    with pytest.raises(ValueError, match=r"t\.csv, line 2"):
        tables.read(study.Row, file)


def test_the_table_keeps_its_damping(tmp_path):
    row = study.summary(ik.track(ARM, ik.hold(ARM, 0.01), ik.DampedLeastSquares(1.5e-3)), 1.5e-3)
    tables.write([row], tmp_path / "t.csv")
    assert tables.read(study.Row, tmp_path / "t.csv")[0].damping == 1.5e-3


@pytest.mark.parametrize("n", [None, [2], float("inf")])
def test_planar_refuses(n):
    with pytest.raises(ValueError, match="whole number"):
        ik.planar(n)


def test_a_damping_too_large_to_be_squared_is_refused():
    J, e = np.random.default_rng(0).normal(size=(6, 7)), np.ones(6)
    assert np.abs(ik.damped(J, e, 1e150)).max() < 1e-149
    with pytest.raises(ValueError, match="too large"):
        ik.damped(J, e, 1e200)


def test_the_transpose_gain_does_not_underflow():
    J, e = np.random.default_rng(0).normal(size=(6, 7)), np.ones(6)
    s = 1e-60
    np.testing.assert_allclose(ik.transpose(J * s, e * s), ik.transpose(J, e), rtol=1e-12)


def test_an_arm_does_not_depend_on_its_batch():
    J = np.random.default_rng(0).normal(size=(6, 7))
    J[5] = J[4]
    e = np.arange(6.0)
    alone = ik.damped(J, e, 1e-6)
    beside = ik.damped(np.stack([J, J]), e, np.array([1e-6, 0.0]))[0]
    np.testing.assert_allclose(beside, alone, rtol=1e-12)


def test_a_law_that_answers_a_scalar_is_refused():
    class Scalar:
        def bind(self, arm):
            return lambda state: 0.5

    with pytest.raises(ValueError, match="shape"):
        ik.track(ARM, ik.hold(ARM, 0.02), Scalar())


def test_a_disabled_actuator_is_no_actuator():
    arm = ik.panda()
    arm.model.opt.disableactuator = 1
    with pytest.raises(ValueError, match="disables"):
        Controller(arm, ik.DampedLeastSquares())


def test_a_control_range_narrower_than_the_joint_is_the_limit_that_cuts_and_counts():
    spec = mujoco.MjSpec.from_string((ik.scenes.scene_folder() / "planar2.xml").read_text())
    spec.actuators[0].ctrlrange = [-0.01, 0.01]
    narrow = ik.Arm.from_model(spec.compile(), "end_effector", home="home")
    lower, upper = narrow.setpoint_limits
    assert (lower[0], upper[0]) == (-0.01, 0.01)
    assert upper[1] == narrow.upper[1]  # a range as wide as the joint's changes nothing

    held = ik.hold(narrow, 0.02)
    aside = ik.Path(held.times, held.positions + [0, 0.5, 0], held.quaternions, held.twists, held.accelerations)
    run = ik.track(narrow, aside, ik.DampedLeastSquares(0.1))
    assert np.abs(run.setpoints[:, 0]).max() > 0.01
    assert run.clipped.all()
