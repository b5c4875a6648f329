"""The tables of results/: columns, writing and reading, updating in place, and when two rows are of the same run."""

import dataclasses
from dataclasses import dataclass

import pytest

from ikcourse.studies import damping, tables
from ikcourse.studies.ends import EndState, Reason
from ikcourse.studies.outcome import Outcome
from ikcourse.studies.tables import measured, setting


@dataclass(frozen=True)
class Row(Outcome):
    """A study's row, in miniature: its settings stand last in the class and first in the table."""

    model: str = setting()
    damping: float = setting("e")
    bent: bool = measured()
    steps: int = measured(tolerance=2)


def row(model="builtin", lam=1e-3, end=EndState.COLLAPSED, reason=Reason.NONE, **changed):
    values = {
        "drift_rad": 2.675, "final_error_m": 0.42934, "peak_speed_rad_s": 3.06, "clipped_steps": 1140,
        "rms_position_m": 0.17468, "bent": True, "steps": 2600,
    }  # fmt: skip
    return Row(model=model, damping=lam, end_state=end, reason=reason, **(values | changed))


FOLDED, HOME = row(), row(lam=1e-2, end=EndState.HEALTHY, drift_rad=1.3414)


# ----- columns


def test_settings_come_first_and_each_group_keeps_its_order():
    assert tables.header(Row) == tables.header(FOLDED) == [
        "model", "damping", "end_state", "reason", "drift_rad", "final_error_m", "peak_speed_rad_s", "clipped_steps",
        "rms_position_m", "bent", "steps",
    ]  # fmt: skip
    assert tables.key(FOLDED) == ("builtin", "1e-03")


def test_values_are_printed_as_their_columns_say():
    assert tables.printed(FOLDED) == [
        "builtin", "1e-03", "collapse", "", "2.675", "0.42934", "3.06", "1140", "0.17468", "True", "2600",
    ]  # fmt: skip
    assert tables.printed(HOME)[4] == "1.341"


@pytest.mark.parametrize(
    ("value", "text"), [(1e-3, "1e-03"), (1.5e-3, "0.0015"), (3e-4, "3e-04"), (1.25e-2, "0.0125"), (0.0, "0e+00")]
)
def test_a_damping_is_printed_short_and_without_loss(value, text):
    assert tables.scientific(value) == text
    assert float(text) == value


@pytest.mark.parametrize(
    ("values", "form", "text"),
    [([2.6751, 2.6752], ".3f", "2.675"), ([3, 1, 2], "d", "1 to 3"), ([0.5], ".1f", "0.5")],
)
def test_a_span_names_both_ends_once(values, form, text):
    assert tables.span(values, form) == text


def test_the_table_shows_every_row_in_columns():
    lines = tables.table([FOLDED, HOME]).splitlines()
    assert lines[0].split() == tables.header(Row)
    assert [line.split() for line in lines[1:]] == [
        [cell for cell in tables.printed(one) if cell] for one in (FOLDED, HOME)
    ]
    assert len({len(line) for line in lines}) == 1, "columns line up"
    assert tables.table([]) == "no rows"


def test_markdown_has_a_rule_under_its_head_and_a_line_a_row():
    lines = tables.markdown([FOLDED, HOME])
    assert len(lines) == 4
    assert len({line.count("|") for line in lines}) == 1
    assert set(lines[1]) <= set("|-: ")
    assert lines[2].startswith("| builtin | 1e-03 | collapse |")


# ----- writing and reading


def test_what_is_written_is_read_back(tmp_path):
    file = tmp_path / "a" / "b.csv"
    undecided = row(lam=5e-4, end=EndState.UNDECIDED, reason=Reason.STRAIGHT, bent=False)
    tables.write([FOLDED, HOME, undecided], file)
    back = tables.read(Row, file)
    assert back == [FOLDED, dataclasses.replace(HOME, drift_rad=1.341), undecided]
    assert (back[2].end_state, back[2].reason, back[2].bent) == (EndState.UNDECIDED, Reason.STRAIGHT, False)
    tables.write(back, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == file.read_bytes()
    assert b"\r" not in file.read_bytes()


GOOD = "builtin,1e-03,collapse,,2.675,0.42934,3.06,1140,0.17468,True,2600"


@pytest.mark.parametrize(
    "line",
    [
        GOOD + ",9",  # a cell too many
        GOOD.removesuffix(",2600"),  # and one too few
        GOOD.replace("collapse", "asleep"),
        GOOD.replace("collapse,,", "collapse,tired,"),
        GOOD.replace("2.675", "far"),
        GOOD.replace("1140", "1140.5"),
        GOOD.replace("True", "1"),
    ],
)
def test_a_line_that_is_no_row_is_refused_with_its_place(line, tmp_path):
    file = tmp_path / "t.csv"
    file.write_text(",".join(tables.header(Row)) + f"\n{GOOD}\n{line}\n")
    with pytest.raises(ValueError, match=r"t\.csv, line 3: "):
        tables.read(Row, file)
    file.write_text(",".join(tables.header(Row)) + f"\n{GOOD}\n{GOOD}\n")
    assert tables.read(Row, file) == [FOLDED, FOLDED]


@pytest.mark.parametrize("head", ["", "damping,end_state", "a,b\n1,2"])
def test_another_table_is_refused_with_both_headers(head, tmp_path):
    file = tmp_path / "t.csv"
    file.write_text(head)
    with pytest.raises(ValueError, match=r"t\.csv must have the columns \['model', 'damping', .* it has "):
        tables.read(Row, file)


def test_a_table_from_before_the_models_is_refused(tmp_path):
    """Columns that a study has gained since: not filled in by guessing."""
    file = tmp_path / damping.FILE
    file.write_text("damping,end_state,drift_rad\n1e-3,healthy,1.4\n")
    with pytest.raises(ValueError, match="must have the columns"):
        tables.read(damping.Row, file)


# ----- updating in place


def test_an_update_replaces_rows_of_the_same_settings_where_they_stand(tmp_path):
    file = tmp_path / "t.csv"
    public = row("menagerie")
    tables.write([FOLDED, public, HOME], file)
    fresh, new = row(drift_rad=2.5), row(lam=7e-3)
    tables.update([new, fresh], file)
    assert tables.read(Row, file) == [fresh, public, dataclasses.replace(HOME, drift_rad=1.341), new]
    before = file.read_bytes()
    tables.update([fresh], file)
    assert file.read_bytes() == before


def test_an_update_makes_the_file_where_there_is_none(tmp_path):
    tables.update([FOLDED], tmp_path / "new" / "t.csv")
    assert tables.read(Row, tmp_path / "new" / "t.csv") == [FOLDED]


def test_no_rows_are_refused_and_leave_the_file(tmp_path):
    file = tmp_path / "t.csv"
    tables.write([FOLDED], file)
    before = file.read_bytes()
    for act in (tables.write, tables.update):
        with pytest.raises(ValueError, match=r"no rows to write to .*t\.csv"):
            act([], file)
    assert file.read_bytes() == before


def test_a_file_that_is_replaced_is_whole_or_as_it_was(tmp_path):
    file = tmp_path / "t.csv"
    with tables.replacing(file) as unfinished:
        unfinished.write_text("first")
        assert not file.exists()

    def interrupted():
        with tables.replacing(file) as unfinished:
            unfinished.write_text("sec")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert file.read_text() == "first"
    assert list(tmp_path.iterdir()) == [file]


def test_a_place_for_a_file_is_judged_by_the_folder_above_that_exists(tmp_path):
    tables.require_place(tmp_path / "new" / "newer" / "t.csv")
    assert list(tmp_path.iterdir()) == [], "it leaves nothing"
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="file is a file"):
        tables.require_place(tmp_path / "file" / "new" / "t.csv")


def test_an_update_of_another_table_is_refused_and_leaves_it(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="must have the columns"):
        tables.update([FOLDED], file)
    assert file.read_text() == "a,b\n1,2\n"


# ----- agreement


def test_a_run_that_came_home_agrees_in_every_printed_digit():
    assert tables.agree(HOME, HOME)
    assert tables.agree(HOME, dataclasses.replace(HOME, drift_rad=1.3409)), "1.341 both"
    for change in (
        {"drift_rad": 1.3404},
        {"final_error_m": HOME.final_error_m + 1e-5},
        {"peak_speed_rad_s": HOME.peak_speed_rad_s + 0.01},
        {"clipped_steps": HOME.clipped_steps + 1},
        {"steps": HOME.steps + 1},
        {"bent": False},
        {"end_state": EndState.COLLAPSED},
        {"damping": 1e-3},
        {"model": "menagerie"},
    ):
        assert not tables.agree(HOME, dataclasses.replace(HOME, **change)), change


@pytest.mark.parametrize("end", [EndState.COLLAPSED, EndState.UNDECIDED])
def test_any_other_run_agrees_within_its_columns_tolerances(end):
    one = row(end=end)
    for change in (
        {"drift_rad": 0.0019},
        {"final_error_m": 0.0009},
        {"peak_speed_rad_s": -0.019},
        {"rms_position_m": -0.0009},
        {"steps": 2},
    ):
        within = {name: getattr(one, name) + by for name, by in change.items()}
        beyond = {name: getattr(one, name) + 1.2 * by + (by == 2) for name, by in change.items()}
        assert tables.agree(one, dataclasses.replace(one, **within)), within
        assert not tables.agree(one, dataclasses.replace(one, **beyond)), beyond
    for change in (
        {"clipped_steps": one.clipped_steps + 1},
        {"reason": Reason.MOVING},
        {"end_state": EndState.HEALTHY},
        {"bent": False},
        {"drift_rad": float("nan")},
    ):
        assert not tables.agree(one, dataclasses.replace(one, **change)), change


def test_a_row_does_not_agree_with_none_nor_home_with_a_fold_within_tolerance():
    assert not tables.agree(FOLDED, None)
    almost = dataclasses.replace(FOLDED, end_state=EndState.HEALTHY, drift_rad=2.6755)
    assert not tables.agree(FOLDED, almost)
    assert not tables.agree(almost, FOLDED)
