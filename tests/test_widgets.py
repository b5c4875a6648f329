"""The explorers, driven as a reader drives them: what they show is what `track` gives, or they say why not."""

import base64
import html
import io
import re

import matplotlib as mpl
import numpy as np
import pytest
from traitlets import TraitError

import ikcourse as ik
from ikcourse import show
from ikcourse.show import explorer_plots, films, widgets
from ikcourse.studies import ends

mpl.use("agg")

FORMER_STYLE = dict(mpl.rcParams)


@pytest.fixture(scope="module")
def damping():
    return show.damping_explorer()


@pytest.fixture(scope="module")
def ellipse():
    return show.ellipse_explorer()


@pytest.fixture(autouse=True)
def fresh(request):
    """Every test begins at the values that a reader first sees, whichever tests ran before it."""
    callspec = getattr(request.node, "callspec", None)
    used = [*request.fixturenames, *(callspec.params.values() if callspec else ())]
    for name, values in (
        ("damping", {"damping": 1e-3, "reach": 0.7, "nullspace_gain": 0.0, "max_joint_speed": np.inf}),
        ("ellipse", {"shoulder": 0.4, "elbow": -0.8, "damping": 0.1}),
    ):
        if any(isinstance(one, str) and one == name for one in used):
            request.getfixturevalue(name).set(**values)


@pytest.fixture(scope="module", autouse=True)
def style_given_back():
    yield
    mpl.rcParams.update(FORMER_STYLE)


def page(explorer):
    """What the reader sees beside the controls, as HTML."""
    texts = [explorer._picture.value, explorer._said.value, getattr(getattr(explorer, "film", None), "value", "")]
    return "".join(texts)


def picture(explorer):
    """The pixels that are shown."""
    from PIL import Image

    (png,) = re.findall(r'src="data:image/png;base64,([^"]+)"', explorer._picture.value)
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB"))


def traces(explorer):
    """The line of each panel."""
    return [np.asarray(axes.lines[0].get_ydata()) for axes in explorer.panels]


def expected(damping=1e-3, reach=0.7, nullspace_gain=0.0, max_joint_speed=None):
    arm = ik.panda()
    law = ik.DampedLeastSquares(damping, nullspace_gain)
    return ik.track(arm, ik.reach_and_return(arm, reach), law, max_joint_speed=max_joint_speed)


# ----- the damping explorer


@pytest.mark.parametrize(
    "change",
    [
        {"damping": 1e-2},
        {"damping": 1e-6},
        {"reach": 0.6},
        {"nullspace_gain": 5.0},
        {"max_joint_speed": 1.0},
        {"damping": 3e-3, "reach": 0.72, "nullspace_gain": 2.0, "max_joint_speed": 0.5},
    ],
)
def test_what_is_drawn_and_said_is_the_run_of_these_values(damping, change):
    before, pixels = traces(damping), picture(damping)
    for name, value in change.items():
        damping.controls[name].value = value
    run = expected(**change)
    np.testing.assert_array_equal(damping.run.q, run.q)
    cond = np.linalg.cond(ik.jacobians_at(run.arm, run.q[:-1]))
    shown = traces(damping)
    for drawn, wanted in zip(shown, (run.position_error, run.joint_speed, cond, np.cumsum(run.clipped)), strict=True):
        np.testing.assert_array_equal(drawn, wanted)
    assert any(not np.array_equal(a, b) for a, b in zip(before, shown, strict=True))
    assert not np.array_equal(pixels, picture(damping))
    words = f"arm {explorer_plots.ending(run)[0]}. It ends {1000 * run.position_error[-1]:.1f} mm"
    assert words in damping.words
    assert f"{run.distance_from_home.max():.2f} rad" in damping.words
    assert f"{run.clipped.sum()} of {len(run.times)} steps" in damping.words
    assert f'aria-live="polite">{html.escape(damping.words)}<' in page(damping)


def test_it_opens_on_a_fold_between_two_dampings_that_come_home(damping):
    assert ends.end_state(damping.run).value == "collapse"
    assert "the arm folds" in damping.words
    for value in (1e-4, 1e-2):
        damping.controls["damping"].value = value
        assert "the arm comes home" in damping.words


def test_the_colour_is_that_of_the_end(damping):
    assert {axes.lines[0].get_color() for axes in damping.panels} == {show.COLOURS["collapsed"]}
    damping.controls["damping"].value = 1e-2
    assert {axes.lines[0].get_color() for axes in damping.panels} == {show.COLOURS["healthy"]}


def test_an_end_state_without_words_of_its_own_is_said_by_its_name():
    run = expected(damping=0.05, reach=0.73)
    assert ends.end(run) == ends.End(ends.EndState.UNDECIDED, ends.Reason.MOVING)
    assert explorer_plots.ending(run) == ("ends undecided, moving", "neutral")


def test_several_values_are_one_run(damping, monkeypatch):
    runs = []

    def counted(*args, **kwargs):
        runs.append(1)
        return ik.track(*args, **kwargs)

    monkeypatch.setattr(widgets, "track", counted)
    damping.set(damping=1e-2, reach=0.65, nullspace_gain=1.0)
    assert len(runs) == 1
    np.testing.assert_array_equal(damping.run.q, expected(1e-2, 0.65, 1.0).q)


def test_an_unknown_control_is_refused_with_those_that_exist(damping):
    with pytest.raises(ValueError, match=r"'gain'.*nullspace_gain"):
        damping.set(gain=1.0)


@pytest.mark.parametrize(
    ("control", "asked", "got"),
    [("damping", 7.0, 1.0), ("damping", 1e-9, 1e-6), ("reach", 0.95, 0.8), ("nullspace_gain", -3.0, 0.0)],
)
def test_a_value_out_of_range_is_the_nearest_one_and_the_words_say_which(damping, control, asked, got):
    damping.controls[control].value = asked
    assert damping.value(control) == pytest.approx(got)
    np.testing.assert_array_equal(damping.run.q, expected(**{control: damping.value(control)}).q)
    assert damping.setting() in damping.words
    assert f"{got:g}" in damping.controls[control].tooltip


@pytest.mark.parametrize("control", ["damping", "reach", "nullspace_gain"])
def test_a_wrong_value_is_said_where_the_answer_would_be(damping, control):
    damping.film.value = "a film of the run before"
    damping.controls[control].value = float("nan")
    assert "nan" in damping.problem
    assert html.escape(damping.problem) in page(damping)
    assert 'role="alert"' in page(damping)
    assert damping.run is None
    assert damping.words == ""
    assert "<img" not in page(damping)
    assert "a film" not in page(damping)
    assert damping.button.disabled
    damping.replay()
    assert damping.film.value == ""


def test_it_recovers_from_a_wrong_value(damping):
    damping.controls["reach"].value = float("nan")
    damping.controls["reach"].value = 0.65
    assert damping.problem == ""
    assert not damping.button.disabled
    np.testing.assert_array_equal(damping.run.q, expected(reach=0.65).q)
    assert "alert" not in page(damping)
    assert picture(damping).std() > 5


def test_a_run_that_diverges_is_said(damping, monkeypatch):
    def diverges(*args, **kwargs):
        raise FloatingPointError("the simulation <diverged>")

    monkeypatch.setattr(widgets, "track", diverges)
    damping.controls["damping"].value = 1e-4
    assert damping.problem == "the simulation <diverged>"
    assert "the simulation &lt;diverged&gt;" in page(damping)
    assert "<img" not in page(damping)


def test_an_error_without_words_is_said_by_its_name(damping, monkeypatch):
    def fails(*args, **kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr(widgets, "track", fails)
    damping.controls["damping"].value = 1e-4
    assert damping.problem == "ZeroDivisionError"


def test_a_value_that_its_control_refuses_leaves_what_is_shown_true(damping):
    with pytest.raises(TraitError):
        damping.set(damping=1e-2, max_joint_speed=3.3)
    np.testing.assert_array_equal(damping.run.q, expected(damping.value("damping")).q)


def test_a_film_of_the_run_is_made_and_goes_with_it(damping, monkeypatch):
    asked = []

    def filmed(runs, labels, alt, **settings):
        asked.append((runs, labels, alt))
        assert damping.button.disabled
        assert "Drawing the film" in damping.film.value
        return films.film(runs, labels, alt, fps=1, width=48, height=48)

    monkeypatch.setattr(widgets, "film", filmed)
    damping.controls["damping"].value = 1e-2
    damping.button.click()
    ((runs, (label,), alt),) = asked
    assert runs == [damping.run]
    assert label == "lambda = 0.01: comes home"
    assert damping.words in alt
    assert "<video" in damping.film.value or "no OpenGL" in damping.film.value
    assert not damping.button.disabled
    damping.controls["damping"].value = 1e-3
    assert damping.film.value == ""


def test_without_opengl_the_film_is_a_sentence(damping, monkeypatch):
    def no_context(*args):
        raise RuntimeError("no context")

    monkeypatch.setattr(films.mujoco, "Renderer", no_context)
    damping.button.click()
    assert "no OpenGL" in damping.film.value
    assert not damping.button.disabled
    assert damping.problem == ""


def test_a_film_that_fails_says_why(damping, monkeypatch):
    def fails(*args, **kwargs):
        raise RuntimeError("no encoder <here>")

    monkeypatch.setattr(widgets, "film", fails)
    damping.button.click()
    assert damping.film.value == '<div role="alert">No film: no encoder &lt;here&gt;</div>'
    assert not damping.button.disabled


# ----- the ellipse explorer


@pytest.mark.parametrize(("q", "damping_value"), [((0.6, -1.2), 0.1), ((-2.0, 2.5), 0.01), ((1.0, 0.05), 0.5)])
def test_the_posture_its_ellipse_and_its_filter_are_those_of_the_sliders(ellipse, q, damping_value):
    pixels = picture(ellipse)
    ellipse.set(shoulder=q[0], elbow=q[1], damping=damping_value)
    J = ik.site_jacobian(ellipse.arm, ellipse.arm.data(np.array(q)))[:2]
    plane, bars = ellipse.panels
    tool = [np.cos(q[0]) + np.cos(sum(q)), np.sin(q[0]) + np.sin(sum(q))]
    outline = next(line for line in plane.lines if len(line.get_xdata()) == 181).get_xydata()
    wanted = tool + explorer_plots.ELLIPSE_SCALE * show.velocity_ellipse(J)
    np.testing.assert_allclose(outline, wanted, atol=1e-12)
    sigma = np.linalg.svd(J, compute_uv=False)
    gains = [ik.damped(np.array([[s]]), np.ones(1), damping_value)[0] for s in sigma]
    np.testing.assert_allclose([bar.get_height() for bar in bars.patches], gains, rtol=1e-12)
    exact = [line.get_ydata()[0] for line in bars.lines[1:]]
    np.testing.assert_allclose(exact, 1 / sigma)
    assert bars.lines[0].get_ydata()[0] == pytest.approx(1 / (2 * damping_value))
    assert f"{sigma[1]:.3g} m/s in its slowest" in ellipse.words
    assert f"no direction gets more than {1 / (2 * damping_value):.3g} rad/s." in ellipse.words
    axes = [line.get_xydata() for line in plane.lines if line.get_zorder() == 4 and len(line.get_xdata()) == 2]
    lengths = [np.linalg.norm(end - start) for start, end in axes]
    np.testing.assert_allclose(lengths, 2 * explorer_plots.ELLIPSE_SCALE * sigma, rtol=1e-9)
    assert "missing" not in ellipse.words
    assert not np.array_equal(pixels, picture(ellipse))


def test_straightened_the_direction_along_the_arm_is_missing(ellipse):
    straighten = next(
        child for child in ellipse.view.children[0].children[-2].children if child.description == "Straighten"
    )
    straighten.click()
    assert (ellipse.value("shoulder"), ellipse.value("elbow")) == (0, 0)
    assert "The direction (1.00, 0.00) is missing" in ellipse.words
    plane, bars = ellipse.panels
    assert "missing" in [text.get_text() for text in plane.texts]
    assert bars.patches[1].get_height() == 0
    ellipse.controls["shoulder"].value = np.pi / 2
    assert "The direction (0.00, 1.00) is missing" in ellipse.words
    for shoulder in (0.3, -1.1, 2.0):  # rounding leaves a singular value near 1e-17 here, and that is none
        ellipse.controls["shoulder"].value = shoulder
        assert "is missing" in ellipse.words
        assert bars.patches[1].get_height() == 0
    ellipse.controls["elbow"].value = 0.01
    assert "missing" not in [text.get_text() for text in plane.texts]
    assert "missing" not in ellipse.words


def test_the_steps_of_the_sliders_meet_zero(ellipse):
    for name in ("shoulder", "elbow"):
        slider = ellipse.controls[name]
        assert (0 - slider.min) / slider.step == pytest.approx(round(-slider.min / slider.step), abs=1e-9)


@pytest.mark.parametrize("control", ["shoulder", "elbow", "damping"])
def test_a_posture_that_is_none_is_said(ellipse, control):
    ellipse.controls[control].value = float("nan")
    assert "finite" in ellipse.problem
    assert "<img" not in page(ellipse)


# ----- both


def test_no_figure_stays_open_and_nothing_piles_up(damping, ellipse):
    import matplotlib.pyplot as plt

    plt.close("all")
    drawn = [sum(len(axes.get_children()) for axes in e.panels) for e in (damping, ellipse)]
    for value in np.geomspace(1e-5, 1e-1, 20):
        damping.controls["damping"].value = value
        ellipse.controls["damping"].value = max(value, 1e-3)
    assert plt.get_fignums() == []
    assert [sum(len(axes.get_children()) for axes in e.panels) for e in (damping, ellipse)] == drawn


@pytest.mark.parametrize("name", ["damping", "ellipse"])
def test_every_control_has_a_name_and_its_unit_or_symbol(name, request):
    explorer = request.getfixturevalue(name)
    for control in explorer.controls.values():
        assert re.search(r"\[.+\]|λ", control.description)
    assert re.search(r'<img alt="[^"]{40,}"', explorer._picture.value)


@pytest.mark.parametrize("name", ["damping", "ellipse"])
def test_a_notebook_shows_the_widget(name, request):
    explorer = request.getfixturevalue(name)
    bundle = explorer._repr_mimebundle_()
    shown = bundle["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert shown == explorer.view.model_id


# ----- the stills beside them


def test_the_still_of_runs_draws_each_and_names_its_end():
    runs = [expected(damping=value) for value in (1e-4, 1e-3, 1e-2)]
    figure = show.compare_runs(runs, ["a", "b", "c"])
    errors = figure.axes[0].lines
    for line, run in zip(errors, runs, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), run.position_error)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["a: comes home", "b: folds", "c: comes home"]
    looks = [(line.get_color(), line.get_linestyle()) for line in errors]
    assert len(set(looks)) == 3


@pytest.mark.parametrize(("runs", "names"), [([], []), ([None], []), ([None], ["a", "b"])])
def test_the_still_of_runs_needs_a_name_for_each(runs, names):
    with pytest.raises(ValueError, match="a name for each"):
        show.compare_runs(runs, names)


def test_the_still_of_postures_has_a_row_for_each():
    figure = show.compare_postures(ik.planar(2), [np.array([0.6, -1.2]), np.zeros(2)], damping=0.1)
    assert len(figure.axes) == 4
    assert "missing" in [text.get_text() for text in figure.axes[2].texts]
    assert "missing" not in [text.get_text() for text in figure.axes[0].texts]


def test_the_still_of_postures_needs_one():
    with pytest.raises(ValueError, match="at least one posture"):
        show.compare_postures(ik.planar(2), [], damping=0.1)
