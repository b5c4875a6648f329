"""The damping study: eleven dampings, two ends, the same on the course's Panda and on the public one."""

import csv
import dataclasses

import mujoco
import pytest

import ikcourse as ik
from ikcourse.studies import damping, results, tables
from ikcourse.studies.ends import EndState, Reason

from .models import ROOT, SHARED

REFERENCE = SHARED / "reference" / "damping_end_state.csv"
MENAGERIE = SHARED / "menagerie"
COLLAPSED = {5e-4, 1e-3, 3e-3, 5e-3}
"""Between two bands of dampings that come home."""


@pytest.fixture(scope="module")
def builtin():
    return damping.study(ik.panda())


@pytest.fixture(scope="module")
def public():
    """The study on the public meshes."""
    if not (MENAGERIE / "franka_emika_panda").is_dir():
        pytest.skip("the public Panda (../shared/menagerie) does not stand beside this checkout")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MENAGERIE_ROOT", str(MENAGERIE))
        arm = ik.panda("menagerie")
    assert arm.model.nmesh > 50, "the public model has meshes"
    return damping.study(arm, model="menagerie")


@pytest.fixture(scope="module")
def reference():
    """The reference table's lines, as text."""
    if not REFERENCE.is_file():
        pytest.skip("the reference figures (../shared/reference) do not stand beside this checkout")
    with REFERENCE.open(newline="") as stream:
        return list(csv.DictReader(stream))


def as_printed(row):
    return dict(zip(tables.header(row), tables.printed(row), strict=True))


def differences_from(reference, rows, drift=0.002, error=0.001, speed=0.02):
    """Every way in which the rows are not the reference: healthy rows digit by digit, collapsed rows by tolerance."""
    found = []
    for line, row in zip(reference, rows, strict=True):
        ours = as_printed(row)
        assert ours["damping"] == line["damping"]
        if line["end_state"] == "healthy":
            found += [(line["damping"], name) for name in line if ours[name] != line[name]]
            continue
        if ours["end_state"] != line["end_state"]:
            found.append((line["damping"], "end_state"))
        if row.clipped_steps != int(line["clipped_steps"]):
            found.append((line["damping"], "clipped_steps"))
        for name, bound in {"drift_rad": drift, "final_error_m": error, "peak_speed_rad_s": speed}.items():
            if abs(getattr(row, name) - float(line[name])) > bound:
                found.append((line["damping"], name))
    return found


def test_on_the_public_panda_the_study_is_the_reference(public, reference):
    assert differences_from(reference, public) == []
    for line, row in zip(reference, public, strict=True):
        assert abs(row.rms_position_m - float(line["rms_position_m"])) < 1e-3


def test_on_the_builtin_panda_the_study_has_the_same_ends(builtin, reference):
    # Where a folded arm comes to rest is decided by the shapes that it lands on.
    shapes = {"drift": 0.1, "error": 0.01, "speed": 0.1}
    assert differences_from(reference, builtin, **shapes) == []


def test_a_difference_from_the_reference_is_seen(builtin, reference):
    planted = list(builtin)
    planted[0] = dataclasses.replace(planted[0], drift_rad=planted[0].drift_rad + 0.001)
    planted[4] = dataclasses.replace(planted[4], clipped_steps=planted[4].clipped_steps + 1, drift_rad=3.0)
    found = differences_from(reference, planted, drift=0.1, error=0.01, speed=0.1)
    assert found == [("1e-06", "drift_rad"), ("5e-04", "clipped_steps"), ("5e-04", "drift_rad")]


@pytest.mark.parametrize("model", ["builtin", "public"])
def test_ends_by_mechanism(model, request):
    rows = request.getfixturevalue(model)
    assert [row.damping for row in rows] == list(damping.DAMPINGS)
    assert len(rows) == 11
    for row in rows:
        folded = row.damping in COLLAPSED
        assert row.end_state is (EndState.COLLAPSED if folded else EndState.HEALTHY)
        assert row.reason is Reason.NONE
        # The two ends have nothing in common: no threshold between them needs a fine touch.
        assert (row.drift_rad > 2) == folded
        assert (row.final_error_m > 0.4) == folded
        assert (row.clipped_steps > 1000) == folded


@pytest.mark.parametrize("model", ["builtin", "public"])
def test_results_is_what_the_code_computes(model, request):
    computed = request.getfixturevalue(model)
    kept = [row for row in tables.read(damping.Row, ROOT / "results" / damping.FILE) if row.model == computed[0].model]
    assert [row.damping for row in kept] == [row.damping for row in computed]
    for ours, theirs in zip(computed, kept, strict=True):
        assert tables.agree(ours, theirs), f"`python -m ikcourse results` would change the row of {ours.damping}"


def test_agreement_sees_a_difference_in_any_column(builtin):
    healthy, folded = builtin[0], builtin[4]
    assert tables.agree(healthy, healthy)
    assert tables.agree(folded, dataclasses.replace(folded, drift_rad=folded.drift_rad + 0.001))
    assert not tables.agree(healthy, dataclasses.replace(healthy, drift_rad=healthy.drift_rad + 0.001))
    for change in (
        {"drift_rad": folded.drift_rad + 0.003},
        {"final_error_m": folded.final_error_m + 0.002},
        {"peak_speed_rad_s": folded.peak_speed_rad_s + 0.03},
        {"clipped_steps": folded.clipped_steps + 1},
        {"end_state": EndState.HEALTHY},
        {"end_state": EndState.UNDECIDED, "reason": Reason.MOVING},
        {"reason": Reason.MOVING},
        {"damping": 1e-3},
        {"model": "menagerie"},
        {"rms_position_m": folded.rms_position_m + 0.01},
    ):
        assert not tables.agree(folded, dataclasses.replace(folded, **change)), change


def test_what_is_written_is_read_back(builtin, tmp_path):
    file = tmp_path / "a" / "b.csv"
    tables.write(builtin, file)
    lines = file.read_text().splitlines()
    assert lines[0] == (
        "model,damping,end_state,reason,drift_rad,final_error_m,peak_speed_rad_s,clipped_steps,rms_position_m"
    )
    assert len(lines) == 12
    back = tables.read(damping.Row, file)
    assert list(map(tables.printed, back)) == list(map(tables.printed, builtin))
    assert back[4].end_state is EndState.COLLAPSED


def test_an_undecided_row_can_be_printed_written_and_read(tmp_path):
    """Of a run, not made up: at its end the arm still follows a target that has left."""
    arm = ik.panda()
    held = ik.hold(arm, 0.1)
    run = ik.track(arm, dataclasses.replace(held, positions=held.positions + [0, 0.3, 0.1]), ik.DampedLeastSquares())
    row = damping.summary(run, 1e-2)
    assert (row.end_state, row.reason) == (EndState.UNDECIDED, Reason.MOVING)
    assert "undecided  moving" in tables.table([row])
    tables.write([row], tmp_path / "one.csv")
    back = tables.read(damping.Row, tmp_path / "one.csv")[0]
    assert (back.end_state, back.reason) == (EndState.UNDECIDED, Reason.MOVING)


def test_the_study_is_about_an_elbow_that_the_arm_must_have():
    with pytest.raises(ValueError, match="the Panda's elbow, joint4"):
        damping.study(ik.planar2())


def test_a_shorter_reach_folds_nobody():
    rows = damping.study(ik.panda(), reach=0.60, dampings=(5e-4, 3e-3))
    assert [row.end_state for row in rows] == [EndState.HEALTHY, EndState.HEALTHY]


def test_without_floor_and_collisions_a_folded_arm_ends_elsewhere_and_a_healthy_one_does_not():
    """What the arm lands on decides where a fold rests; a healthy run touches nothing."""
    arm = ik.panda()
    arm.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    folded, healthy = damping.study(arm, dampings=(1e-3, 1e-2))
    assert folded.end_state is EndState.COLLAPSED
    assert folded.drift_rad == pytest.approx(2.559, abs=0.002)
    assert folded.final_error_m == pytest.approx(0.281, abs=0.001)
    assert tables.printed(healthy) == ["builtin", "1e-02", "healthy", "", "1.341", "0.00657", "0.08", "0", "0.00888"]


def test_the_integrator_is_part_of_the_result():
    """Attaching keeps the stage's options: with Euler instead of implicitfast the healthy row is another one."""
    arm = ik.panda()
    assert arm.model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    arm.model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    (row,) = damping.study(arm, dampings=(1e-2,))
    assert tables.printed(row)[4:6] != ["1.341", "0.00657"]


# ----- results/


@pytest.fixture
def alone(monkeypatch, builtin):
    """`results` with this study alone, on the built-in model, and its rows computed once."""
    monkeypatch.setattr(damping, "study", lambda arm, *arguments, **more: builtin)
    monkeypatch.setattr(results, "STUDIES", {"damping": results.Table(damping)})
    monkeypatch.setattr(results, "models_here", lambda: ["builtin"])


def test_check_fails_where_a_row_was_changed_or_lost(tmp_path, builtin, alone, capsys):
    results.write(tmp_path)
    assert results.check(tmp_path) == 0
    facts = (tmp_path / results.FACTS).read_text()
    (tmp_path / results.FACTS).write_text(facts.replace("healthy", "fine"))
    assert results.check(tmp_path) == 1
    (tmp_path / results.FACTS).write_text(facts)
    changed = [dataclasses.replace(builtin[0], drift_rad=1.5), *builtin[1:]]
    tables.write(changed, tmp_path / damping.FILE)
    assert results.check(tmp_path) == 1
    tables.write(builtin[:-1], tmp_path / damping.FILE)
    assert results.check(tmp_path) == 1
    assert "not what this code computes" in "".join(capsys.readouterr())


def test_facts_carry_the_table_and_how_many_runs_it_stands_on(builtin):
    facts = (ROOT / "results" / results.FACTS).read_text()
    for model in ("builtin", "menagerie"):
        assert (
            f"The {model} Panda reaches to 0.70 m from its shoulder and returns; 11 runs, one a damping: "
            "7 come home, 4 fold (lambda 0.0005, 0.001, 0.003, 0.005), 0 are undecided."
        ) in facts
    for row in builtin:
        assert "| " + " | ".join(tables.printed(row)) + " |" in facts


def test_facts_count_an_end_that_is_undecided(builtin):
    planted = [dataclasses.replace(builtin[4], end_state=EndState.UNDECIDED, reason=Reason.MOVING), *builtin[5:]]
    (said, _) = damping.facts(planted)
    assert "7 runs, one a damping: 3 come home, 3 fold (lambda 0.001, 0.003, 0.005), 1 are undecided." in said
