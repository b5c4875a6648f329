"""`results`: every file from one command, a check that can fail, and the public Panda where it cannot be had."""

import dataclasses
import types
from dataclasses import dataclass

import pytest

from ikcourse import scenes
from ikcourse.studies import results, tables
from ikcourse.studies.tables import measured, setting

from .models import ROOT


@dataclass(frozen=True)
class Row:
    """A study's row, in miniature."""

    model: str = setting()
    damping: float = setting("e")
    value: int = measured()


class Study(types.SimpleNamespace):
    """A study module in miniature: value = number * factor, to be turned by a test."""

    FILE, Row, SETTINGS, factor = "tiny.csv", Row, (1.0, 2.0, 3.0), 10

    def compute(self, model, settings, progress):
        return [Row(model=model, damping=s, value=int(s * self.factor)) for s in progress(settings)]

    def facts(self, rows):
        return [f"{len(rows)} rows, sum {sum(row.value for row in rows)}."]


@pytest.fixture
def study(monkeypatch):
    """The one study that there is."""
    tiny = Study()
    other = Study()
    other.FILE = "other.csv"
    monkeypatch.setattr(results, "STUDIES", {"tiny": results.Table(tiny), "other": results.Table(other)})
    monkeypatch.setattr(results, "models_here", lambda: ["builtin", "menagerie"])
    return tiny


@pytest.fixture
def without_menagerie(monkeypatch):
    def models_here():
        print("the public Panda's rows stand as they were")
        return ["builtin"]

    monkeypatch.setattr(results, "models_here", models_here)


def test_a_study_writes_its_table_for_both_models_and_the_facts(study, tmp_path, capsys):
    assert results.write(tmp_path) == 0
    rows = tables.read(Row, tmp_path / "tiny.csv")
    assert [(row.model, row.damping, row.value) for row in rows] == [
        (model, s, 10 * s) for model in ("builtin", "menagerie") for s in (1, 2, 3)
    ]
    facts = (tmp_path / results.FACTS).read_text()
    assert "## tiny.csv\n\n6 rows, sum 120.\n" in facts
    assert "| builtin | 1e+00 | 10 |" in facts
    assert "| menagerie |" not in facts
    assert capsys.readouterr().out.split() == [str(tmp_path / f) for f in ("tiny.csv", "other.csv", results.FACTS)]
    assert results.check(tmp_path) == 0
    assert "tiny, other: " in capsys.readouterr().out


def test_a_second_computation_has_the_same_bytes(study, tmp_path):
    results.write(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    results.write(tmp_path)
    assert before == {file.name: file.read_bytes() for file in tmp_path.iterdir()}


def test_a_check_writes_nothing_and_fails_where_the_code_computes_something_else(study, tmp_path, capsys):
    results.write(tmp_path)
    before = (tmp_path / "tiny.csv").read_bytes()
    study.factor = 11
    assert results.check(tmp_path) == 1
    said = capsys.readouterr().out
    assert "tiny.csv is not what this code computes" in said
    assert said.count("menagerie") == 3
    assert (tmp_path / "tiny.csv").read_bytes() == before
    assert results.check(tmp_path, ["other"]) == 0, "the other study is what it was"


def test_a_check_sees_a_row_that_was_lost_and_one_that_no_setting_makes(study, tmp_path, capsys):
    results.write(tmp_path)
    file = tmp_path / "tiny.csv"
    rows = tables.read(Row, file)
    tables.write(rows[:-1], file)
    assert results.check(tmp_path, ["tiny"]) == 1
    assert "is not what this code computes" in capsys.readouterr().out
    tables.write([*rows, Row(model="builtin", damping=9.0, value=90)], file)
    assert results.check(tmp_path, ["tiny"]) == 1
    assert "holds rows that no setting makes" in capsys.readouterr().out


def test_a_check_recomputes_what_the_study_declares(study, tmp_path):
    results.write(tmp_path)
    file, rows = tmp_path / "tiny.csv", tables.read(Row, tmp_path / "tiny.csv")
    study.CHECKED = (2.0,)
    for damping, answer in ((1.0, 0), (2.0, 1)):
        changed = [dataclasses.replace(row, value=7) if row.damping == damping else row for row in rows]
        tables.write(changed, file)
        (tmp_path / results.FACTS).write_text(results._facts(tmp_path))
        assert results.check(tmp_path, ["tiny"]) == answer


def test_a_check_sees_facts_that_the_files_do_not_say_and_lets_other_versions_be(study, tmp_path, capsys):
    results.write(tmp_path)
    facts = tmp_path / results.FACTS
    text = facts.read_text()
    facts.write_text(text.replace("sum 120", "sum 121"))
    assert results.check(tmp_path) == 1
    assert "does not say what the files beside it say" in capsys.readouterr().out
    assert results.VERSIONS in text
    facts.write_text(text.split(results.VERSIONS)[0] + results.VERSIONS + "MuJoCo 9.9.\n")
    assert results.check(tmp_path) == 0


def test_one_study_alone_leaves_the_others_files(study, tmp_path, capsys):
    assert results.write(tmp_path, ["other"]) == 0
    assert not (tmp_path / "tiny.csv").exists()
    facts = (tmp_path / results.FACTS).read_text()
    assert "\n\n## tiny\n\nNot computed yet: `python -m ikcourse results --only tiny`.\n" in facts
    assert "## other.csv" in facts
    assert results.check(tmp_path, ["other"]) == 0
    with pytest.raises(FileNotFoundError):
        results.check(tmp_path)


def test_a_name_that_is_no_study_is_refused_with_those_that_are(study, tmp_path):
    for act in (results.write, results.check):
        with pytest.raises(ValueError, match="there is no study dampings; there are tiny, other"):
            act(tmp_path, ["tiny", "dampings"])
    assert list(tmp_path.iterdir()) == []


def test_the_public_pandas_rows_stand_where_it_cannot_be_had(study, tmp_path, capsys, request):
    results.write(tmp_path)
    request.getfixturevalue("without_menagerie")
    study.factor = 11
    capsys.readouterr()
    assert results.write(tmp_path) == 0
    rows = tables.read(Row, tmp_path / "tiny.csv")
    assert [(row.model, row.value) for row in rows] == [
        *(("builtin", 11 * s) for s in (1, 2, 3)),
        *(("menagerie", 10 * s) for s in (1, 2, 3)),
    ]
    assert "rows stand as they were" in capsys.readouterr().out
    assert results.check(tmp_path) == 0
    assert "rows stand as they were" in capsys.readouterr().out


def test_a_panda_that_can_be_neither_found_nor_downloaded_is_said(monkeypatch, capsys):
    whole = scenes.panda

    def panda(source="builtin", **options):
        if source == "menagerie":
            raise RuntimeError("no network")
        return whole(source, **options)

    monkeypatch.setattr(scenes, "panda", panda)
    assert results.models_here() == ["builtin"]
    said = capsys.readouterr().out
    assert "the public Panda's rows stand as they were" in said
    assert "no network" in said
    monkeypatch.setattr(scenes, "panda", whole)


def test_a_table_with_other_columns_is_written_anew_where_nothing_of_it_must_be_kept(study, tmp_path, request):
    results.write(tmp_path)
    good = (tmp_path / "tiny.csv").read_bytes()
    (tmp_path / "tiny.csv").write_text("damping,value\n1e-3,7\n")
    with pytest.raises(ValueError, match="must have the columns"):
        results.check(tmp_path)
    results.write(tmp_path)
    assert (tmp_path / "tiny.csv").read_bytes() == good
    request.getfixturevalue("without_menagerie")
    (tmp_path / "tiny.csv").write_text("damping,value\n1e-3,7\n")
    with pytest.raises(ValueError, match="must have the columns"):
        results.write(tmp_path)
    assert (tmp_path / "tiny.csv").read_text() == "damping,value\n1e-3,7\n", "what may be somebody's stays"


def test_progress_is_shown_by_study(study, tmp_path):
    seen = []

    def progress(name):
        return lambda steps: seen.append((name, len(steps))) or steps

    results.write(tmp_path, ["other"], progress)
    assert seen == [("other", 3), ("other", 3)]


def test_every_study_of_the_course_has_its_file_and_its_section():
    facts = (ROOT / "results" / results.FACTS).read_text()
    for name, study in results.STUDIES.items():
        lines = study.facts(ROOT / "results")
        assert lines[0].startswith("## "), name
        assert "\n".join(lines) in facts, f"`python -m ikcourse results --only {name}` writes its facts"


def test_a_study_whose_package_is_missing_stands_as_it_was_and_that_is_said(study, tmp_path, monkeypatch, capsys):
    results.write(tmp_path)
    before = (tmp_path / "tiny.csv").read_bytes()
    monkeypatch.setitem(results.STUDIES, "tiny", results.Table(study, needs=("no_such_package",)))
    study.SETTINGS = (7,)
    assert results.write(tmp_path) == 0
    assert (tmp_path / "tiny.csv").read_bytes() == before
    assert results.check(tmp_path) == 0
    assert "tiny stands as it was: it needs no_such_package" in capsys.readouterr().out


# ----- interruptions, and a table that was edited by hand


def test_an_interrupted_study_leaves_every_old_file_whole(study, tmp_path, monkeypatch):
    results.write(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    study.factor = 11
    printed, lines = tables.printed, []

    def interrupted(row):
        if len(lines) == 2:
            raise KeyboardInterrupt
        lines.append(row)
        return printed(row)

    monkeypatch.setattr(tables, "printed", interrupted)  # in the middle of a file
    with pytest.raises(KeyboardInterrupt):
        results.write(tmp_path)
    assert len(lines) == 2
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_interrupted_facts_leave_the_old_ones(study, tmp_path, monkeypatch):
    results.write(tmp_path)
    before = (tmp_path / results.FACTS).read_bytes()

    def interrupted(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr(results, "_facts", interrupted)
    with pytest.raises(KeyboardInterrupt):
        results.write(tmp_path)
    assert (tmp_path / results.FACTS).read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([results.FACTS, "other.csv", "tiny.csv"])


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_computed(study, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "compute", lambda *arguments: pytest.fail("computed for nothing"))
    (tmp_path / "occupied").write_text("")
    with pytest.raises(NotADirectoryError, match="occupied is a file"):
        results.write(tmp_path / "occupied" / "results")
    monkeypatch.setattr(tables.os, "access", lambda folder, mode: False)
    with pytest.raises(PermissionError, match="may not be written in"):
        results.write(tmp_path)


def test_a_check_of_some_settings_counts_the_others(study, tmp_path, capsys):
    results.write(tmp_path)
    file, rows = tmp_path / "tiny.csv", tables.read(Row, tmp_path / "tiny.csv")
    for checked in ((2.0,), study.SETTINGS):
        study.CHECKED = checked
        for changed, complaint in (
            (rows, ""),
            (rows[::-1], ""),
            (rows[1:], "2 rows of builtin, not 3"),
            ([*rows, dataclasses.replace(rows[0], damping=9.0)], "4 rows of builtin, not 3"),
            ([dataclasses.replace(rows[0], value=7), *rows], "4 rows of builtin, not 3"),  # the right one hides it
            ([*rows, dataclasses.replace(rows[0], model="mine")], "holds rows that no setting makes"),
        ):
            tables.write(changed, file)
            (tmp_path / results.FACTS).write_text(results._facts(tmp_path))
            capsys.readouterr()
            assert results.check(tmp_path, ["tiny"]) == (1 if complaint else 0)
            assert complaint in capsys.readouterr().out


def test_a_table_with_the_line_ends_of_windows_is_the_same_table(study, tmp_path):
    results.write(tmp_path)
    file = tmp_path / "tiny.csv"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert results.check(tmp_path) == 0


def test_a_line_after_the_versions_is_a_fact_that_nothing_says(study, tmp_path, capsys):
    results.write(tmp_path)
    with (tmp_path / results.FACTS).open("a") as facts:
        facts.write("Nobody ever folds.\n")
    assert results.check(tmp_path) == 1
    assert "does not say what the files beside it say" in capsys.readouterr().out


def test_the_facts_of_a_table_without_the_built_in_model_are_written(study, tmp_path):
    """What `damping --model menagerie` leaves in an empty folder."""
    tables.write([Row(model="menagerie", damping=1.0, value=10)], tmp_path / "tiny.csv")
    assert results.write(tmp_path, ["other"]) == 0
    assert "## tiny.csv\n\n1 rows, sum 10.\n\n## other.csv" in (tmp_path / results.FACTS).read_text()


@pytest.mark.parametrize("name", [name for name, study in results.STUDIES.items() if isinstance(study, results.Table)])
def test_facts_are_said_of_half_a_table_too(name):
    module = results.STUDIES[name].module
    rows = tables.read(module.Row, ROOT / "results" / module.FILE)
    for some in ([], rows[:1], rows[-1:], [row for row in rows if row.model == "menagerie"]):
        assert all(isinstance(line, str) for line in module.facts(some))
