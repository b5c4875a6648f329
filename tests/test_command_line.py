"""`python -m ikcourse`: what each command prints, writes and returns, and one sentence where it cannot."""

import csv
import dataclasses
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import ikcourse as ik
from ikcourse import __main__ as command_line
from ikcourse.studies import damping, results, tables
from ikcourse.studies.ends import EndState

STUDIES = ("damping", "nullspace", "reach", "ablation", "practice", "mink", "bakeoff", "tuning")
COMMANDS = (*STUDIES, "map", "demo", "viewer", "results", "bench")


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Every command runs in a folder of its own: none may need the checkout."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def few_dampings(monkeypatch, tmp_path):
    """`results` with one study, of two of its eleven runs, and no public Panda."""
    whole = damping.study

    def short(arm, reach=0.70, dampings=(1e-3, 1e-2), *arguments, **options):
        return whole(arm, reach, dampings, *arguments, **options)

    monkeypatch.setattr(damping, "study", short)
    monkeypatch.setattr(damping, "SETTINGS", (1e-3, 1e-2))
    monkeypatch.setattr(results, "STUDIES", {"damping": results.Table(damping)})
    monkeypatch.setattr(command_line, "TABLES", {"damping": command_line.TABLES["damping"]})
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path / "nowhere"))


def run(*arguments, **environment):
    """The command in a process of its own, without a display."""
    hidden = ("DISPLAY", "WAYLAND_DISPLAY")
    variables = {key: value for key, value in os.environ.items() if key not in hidden} | environment
    return subprocess.run(
        [sys.executable, "-m", "ikcourse", *arguments],
        env=variables, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def is_one_sentence(text):
    """One line, said by the program, and no traceback."""
    return text.startswith("ikcourse: ") and len(text.strip().splitlines()) == 1 and "Traceback" not in text


def test_help_lists_the_commands():
    done = run("--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: python -m ikcourse")
    for command in COMMANDS:
        assert re.search(rf"\n    {command}\s", done.stdout), command
    assert done.stderr == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        command_line.main([command, "--help"])
    assert stopped.value.code == 0
    assert f"usage: python -m ikcourse {command}" in capsys.readouterr().out


def test_the_options_of_the_issue_exist(capsys):
    for command, options in {
        **dict.fromkeys(STUDIES, ("--model {builtin,menagerie}", "--output")),
        "damping": ("--model {builtin,menagerie}", "--reach", "--output"),
        "viewer": ("--damping", "--integration-dt", "--nullspace-gain", "--max-angvel", "--model {builtin,menagerie}"),
        "results": ("--check", "--only"),
    }.items():
        with pytest.raises(SystemExit):
            command_line.main([command, "--help"])
        text = capsys.readouterr().out
        for option in options:
            assert option in text


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["dampings"],
        ["damping", "--model", "real"],
        ["damping", "--reach", "far"],
        ["damping", "extra"],
        ["--damping", "1"],
    ],
)
def test_what_it_does_not_know_is_refused_with_the_usage(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        command_line.main(arguments)
    assert stopped.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "usage: python -m ikcourse" in said.err


def test_an_unknown_command_is_answered_with_those_that_exist(capsys):
    with pytest.raises(SystemExit):
        command_line.main(["dampings"])
    said = capsys.readouterr().err
    for command in COMMANDS:
        assert command in said


def test_damping_prints_the_table_and_writes_it(few_dampings, tmp_path, capsys):
    assert command_line.main(["damping"]) == 0
    said = capsys.readouterr().out
    with (tmp_path / "results" / "damping_end_state.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [(line["damping"], line["end_state"]) for line in lines] == [("1e-03", "collapse"), ("1e-02", "healthy")]
    for line in lines:
        assert any(row.split() == [value for value in line.values() if value] for row in said.splitlines())
    assert "damping_end_state.csv" in said
    assert "2 runs" in said


def test_damping_takes_a_reach_and_a_file(few_dampings, tmp_path, capsys):
    assert command_line.main(["damping", "--reach", "0.6", "--output", "here/table.csv"]) == 0
    assert not (tmp_path / "results").exists()
    rows = tables.read(damping.Row, tmp_path / "here" / "table.csv")
    assert [row.end_state for row in rows] == [EndState.HEALTHY, EndState.HEALTHY]


def test_damping_says_that_the_book_reads_another_reach_from_the_file_that_it_wrote(few_dampings, capsys):
    assert command_line.main(["damping", "--reach", "0.6"]) == 0
    assert "The book reads the study at 0.70 m from there" in capsys.readouterr().out
    assert command_line.main(["damping"]) == 0
    assert "The book reads" not in capsys.readouterr().out


def test_damping_writes_its_rows_in_place_and_keeps_another_models(few_dampings, tmp_path, capsys):
    file = tmp_path / "table.csv"
    assert command_line.main(["damping", "--output", "table.csv"]) == 0
    computed = tables.read(damping.Row, file)
    public = [dataclasses.replace(row, model="menagerie", drift_rad=2.0) for row in computed]
    wrong = [dataclasses.replace(row, drift_rad=9.0) for row in computed]
    tables.write([wrong[1], *public, wrong[0]], file)
    assert command_line.main(["damping", "--output", "table.csv"]) == 0
    assert tables.read(damping.Row, file) == [computed[1], *public, computed[0]]
    assert "in place of rows with the same settings" in capsys.readouterr().out


def test_a_file_that_holds_something_else_is_not_overwritten(few_dampings, tmp_path, capsys):
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n")
    assert command_line.main(["damping", "--output", "mine.csv"]) == 1
    said = capsys.readouterr()
    assert is_one_sentence(said.err)
    assert said.out == "", "it is refused before the study runs"
    assert (tmp_path / "mine.csv").read_text() == "a,b\n1,2\n"


def test_a_folder_as_output_is_refused_in_one_sentence(few_dampings, tmp_path, capsys):
    assert command_line.main(["damping", "--output", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert is_one_sentence(said.err)
    assert "names a folder" in said.err
    assert said.out == ""


@pytest.mark.parametrize("name", [name for name in STUDIES if name != "damping"])
def test_each_study_prints_its_table_and_writes_it(name, tmp_path, monkeypatch, capsys):
    module = results.STUDIES[name].module
    monkeypatch.setattr(module, "SETTINGS", getattr(module, "CHECKED", module.SETTINGS)[:1])
    assert command_line.main([name]) == 0
    said = capsys.readouterr().out
    (row,) = tables.read(module.Row, tmp_path / "results" / module.FILE)
    assert row.model == "builtin"
    assert said.splitlines()[:2] == tables.table([row]).splitlines()
    assert f"1 runs written to results/{module.FILE}" in said


def test_damping_in_a_process_of_its_own_writes_eleven_rows(tmp_path):
    done = run("damping")
    assert done.returncode == 0, done.stderr
    rows = tables.read(damping.Row, tmp_path / "results" / "damping_end_state.csv")
    assert len(rows) == 11
    assert done.stdout.splitlines()[:12] == tables.table(rows).splitlines()
    assert done.stderr == ""


@pytest.mark.parametrize("reach", ["-1", "0", "nan", "inf"])
def test_a_reach_that_is_none_is_refused_in_one_sentence(reach, tmp_path, capsys):
    assert command_line.main(["damping", "--reach", reach]) == 1
    said = capsys.readouterr()
    assert is_one_sentence(said.err)
    assert "reach must be positive and finite" in said.err
    assert said.out == ""
    assert not (tmp_path / "results").exists()


def test_a_reach_that_no_simulation_survives_is_refused_in_one_sentence(capsys):
    assert command_line.main(["damping", "--reach", "1e300"]) == 1
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert said.err.strip().splitlines()[-1].startswith("ikcourse: ")


def test_a_bad_reach_is_refused_in_one_sentence_by_the_process_too():
    done = run("damping", "--reach", "-0.7")
    assert done.returncode == 1
    assert is_one_sentence(done.stderr)


def test_a_file_that_cannot_be_written_is_said(few_dampings, tmp_path, capsys):
    (tmp_path / "occupied").write_text("")
    for arguments in (["damping"], ["demo"]):
        assert command_line.main([*arguments, "--output", "occupied/table.csv"]) == 1
        said = capsys.readouterr()
        assert is_one_sentence(said.err)
        assert "occupied is a file" in said.err
        assert said.out == "", "nothing is computed for a file that cannot be written"


def test_a_public_panda_that_cannot_be_found_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path / "nowhere"))
    assert command_line.main(["damping", "--model", "menagerie"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("ikcourse: the public Panda can be neither found nor downloaded")
    assert "MENAGERIE_ROOT" in said
    assert "Traceback" not in said


def test_the_viewer_without_a_display_says_that_it_needs_one():
    pytest.importorskip("ikcourse.show.viewer")
    done = run("viewer")
    assert done.returncode == 1
    assert is_one_sentence(done.stderr)
    assert "needs a display" in done.stderr


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--damping", "-1", "damping"),
        ("--nullspace-gain", "-1", "nullspace_gain"),
        ("--integration-dt", "0", "integration_dt"),
        ("--max-angvel", "-1", "max-angvel"),
        ("--max-angvel", "nan", "max-angvel"),
    ],
)
def test_the_viewer_refuses_what_makes_no_sense_in_one_sentence(option, value, message, monkeypatch, capsys):
    pytest.importorskip("ikcourse.show.viewer")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert command_line.main(["viewer", option, value]) == 1
    said = capsys.readouterr().err
    assert is_one_sentence(said)
    assert message in said


def test_the_viewer_gets_the_options(monkeypatch):
    viewer = pytest.importorskip("ikcourse.show.viewer")
    seen = []
    monkeypatch.setattr(viewer, "view", lambda *arguments: seen.append(arguments))
    assert command_line.main(["viewer"]) == 0
    arguments = ["--damping", "0.1", "--integration-dt", "0.25", "--nullspace-gain", "0", "--max-angvel", "0"]
    assert command_line.main(["viewer", *arguments]) == 0
    (arm, law, integration_dt, bound), (_, other_law, other_dt, other_bound) = seen
    assert arm.n == 7
    assert arm.model.nmocap == 1
    assert (law, integration_dt, bound) == (ik.DampedLeastSquares(1e-2, 5.0), 0.5, 1.0)
    assert (other_law, other_dt, other_bound) == (ik.DampedLeastSquares(0.1, 0.0), 0.25, None)


def test_results_writes_and_checks(few_dampings, tmp_path, capsys):
    assert command_line.main(["results"]) == 0
    file = tmp_path / "results" / "damping_end_state.csv"
    assert file.is_file()
    assert (tmp_path / "results" / "FACTS.md").is_file()
    assert command_line.main(["results", "--check"]) == 0
    before = file.read_text()
    file.write_text(before.replace("1.341", "1.342"))
    changed = file.read_text()
    assert changed != before
    assert command_line.main(["results", "--check"]) == 1
    assert file.read_text() == changed, "a check writes nothing"
    assert "not what this code computes" in "".join(capsys.readouterr())


def test_results_of_one_study_alone(few_dampings, tmp_path, capsys):
    assert command_line.main(["results", "--only", "damping"]) == 0
    assert "the public Panda's rows stand as they were" in capsys.readouterr().out
    assert command_line.main(["results", "--only", "damping", "--only", "damping", "--check"]) == 0
    assert command_line.main(["results", "--only", "dampings"]) == 1
    said = capsys.readouterr().err
    assert is_one_sentence(said)
    assert "there is no study dampings; there are damping" in said


def test_a_check_of_results_that_are_not_there_fails_and_says_so(few_dampings, capsys):
    assert command_line.main(["results", "--check"]) == 1
    assert "damping_end_state.csv" in "".join(capsys.readouterr())


def test_a_check_of_results_that_are_no_table_fails_without_a_traceback(few_dampings, tmp_path, capsys):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "damping_end_state.csv").write_text("damping,end_state\n1e-3,asleep\n")
    assert command_line.main(["results", "--check"]) == 1
    (tmp_path / "results" / "damping_end_state.csv").write_text("damping,end_state\n1e-3,healthy\n")
    assert command_line.main(["results", "--check"]) == 1


def test_bench_is_a_command(monkeypatch, capsys):
    from ikcourse.studies import bench

    monkeypatch.setattr(bench, "ratios", lambda: ([2.0, 2.5, 9.0], 20.0))
    monkeypatch.setattr(bench, "batch_seconds", lambda: np.array([[15.0, 10.0, 100.0]]))
    assert command_line.main(["bench"]) == 0
    said = capsys.readouterr().out
    assert "2.50" in said
    assert "met" in said
    assert "MISSED" not in said


def test_demo_films_a_fold_beside_a_return(monkeypatch, tmp_path, capsys):
    from ikcourse.show import films

    seen = []

    def write_films(runs, labels, file):
        seen.append((runs, labels))
        return [file.with_suffix(".mp4"), file.with_suffix(".gif")]

    monkeypatch.setattr(films, "write_films", write_films)
    assert command_line.main(["demo", "--output", "here/fold"]) == 0
    ((runs, labels),) = seen
    assert labels == ["lambda = 0.001: collapse", "lambda = 0.01: healthy"]
    assert [run.law.damping for run in runs] == [1e-3, 1e-2]
    assert capsys.readouterr().out.split() == ["here/fold.mp4", "here/fold.gif"]


def test_demo_says_that_it_cannot_draw(monkeypatch, capsys):
    from ikcourse.show import films

    def no_opengl(*arguments, **options):
        raise films.NoOpenGL(films.NO_OPENGL)

    monkeypatch.setattr(films, "frames_of", no_opengl)
    assert command_line.main(["demo", "--dampings", "1e-2"]) == 1
    assert "found no OpenGL" in capsys.readouterr().err


def test_map_writes_its_files_and_says_what_they_hold(monkeypatch, tmp_path, capsys):
    from ikcourse.studies import collapse_map

    grid = collapse_map.Grid((1e-3, 1e-2), (0.66, 0.72), (0.0,), 1e-2, (0.66, 0.72))
    monkeypatch.setitem(results.STUDIES, "map", results.CollapseMap(grid))
    assert command_line.main(["map", "--output", "here"]) == 0
    said = capsys.readouterr().out
    for name in (collapse_map.FILE, collapse_map.BINARY):
        assert (tmp_path / "here" / name).is_file()
        assert name in said
    assert "Gain 0: 4 runs" in said


def test_map_needs_a_folder(tmp_path, capsys):
    (tmp_path / "occupied").write_text("")
    for folder, words in (("occupied", "names a file, occupied; the map needs a folder"), ("occupied/a", "is a file")):
        assert command_line.main(["map", "--output", folder]) == 1
        said = capsys.readouterr().err
        assert is_one_sentence(said)
        assert words in said


def test_map_says_that_no_scheduler_answers(capsys):
    pytest.importorskip("distributed")
    assert command_line.main(["map", "--output", "here", "--scheduler", "tcp://127.0.0.1:9"]) == 1
    assert "no dask scheduler answers" in capsys.readouterr().err
