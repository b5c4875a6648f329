"""Figures, films and the viewer: what they show, and what they say where nothing can be shown."""

import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

import ikcourse as ik
from ikcourse import show
from ikcourse.show import films, viewer

mpl.use("agg")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def run():
    arm = ik.panda()
    return ik.track(arm, ik.hold(arm, duration=0.2), ik.DampedLeastSquares(damping=1e-2))


def can_draw():
    try:
        show.still(ik.panda(), width=32, height=32)
    except films.NoOpenGL:
        return False
    return True


needs_opengl = pytest.mark.skipif("not can_draw()", reason="no OpenGL on this machine")


def test_the_ellipse_is_what_unit_joint_velocities_reach():
    rng = np.random.default_rng(0)
    J = rng.normal(size=(2, 3))
    boundary = show.velocity_ellipse(J)
    metric = np.linalg.inv(J @ J.T)
    np.testing.assert_allclose(np.einsum("pi,ij,pj->p", boundary, metric, boundary), 1, atol=1e-12)
    unit = rng.normal(size=(1000, 3))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    reached = unit @ J.T
    assert np.einsum("pi,ij,pj->p", reached, metric, reached).max() <= 1 + 1e-12


def test_the_ellipse_of_a_stretched_arm_is_a_line():
    boundary = show.velocity_ellipse(np.array([[0.0, 0.0], [2.0, 1.0]]))
    assert np.abs(boundary[:, 0]).max() < 1e-12
    assert boundary[:, 1].max() == pytest.approx(np.sqrt(5))


def test_the_ellipse_of_one_joint_is_a_line():
    assert np.linalg.matrix_rank(show.velocity_ellipse(np.array([[1.0], [2.0]])), tol=1e-9) == 1


@pytest.mark.parametrize("J", [np.ones((3, 2)), np.ones(2)])
def test_the_ellipse_refuses_other_shapes(J):
    with pytest.raises(ValueError, match="two rows"):
        show.velocity_ellipse(J)


def test_the_drawn_arm_ends_at_its_tool():
    import matplotlib.pyplot as plt

    arm = ik.planar(2)
    _, ax = plt.subplots()
    tool = show.draw_planar_arm(ax, arm, np.array([0.3, 0.4]))
    expected = [np.cos(0.3) + np.cos(0.7), np.sin(0.3) + np.sin(0.7)]
    np.testing.assert_allclose(tool, expected, atol=1e-12)
    np.testing.assert_allclose(ax.lines[0].get_xydata()[-1], expected, atol=1e-12)
    plt.close("all")


def test_the_page_of_conventions_draws_the_colours_that_the_figures_use():
    drawn = (ROOT / "book" / "assets" / "colours.svg").read_text(encoding="utf-8").upper()
    missing = [name for name, colour in show.COLOURS.items() if colour.upper() not in drawn]
    assert not missing


def test_lines_are_named_at_their_ends_in_their_colour():
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    (line,) = ax.plot([0, 1], [2, 3], color="#123456", label="named")
    ax.plot([0, 1], [0, 1])
    show.label_lines(ax)
    (text,) = ax.texts
    assert (text.get_text(), text.xy, text.get_color()) == ("named", (1, 3), line.get_color())
    plt.close("all")


@needs_opengl
def test_frames_show_the_arm_and_keep_to_the_frame_rate(run):
    frames = show.frames_of(run, fps=10, width=64, height=48)
    assert frames.shape == (2, 48, 64, 3)
    assert frames.dtype == np.uint8
    assert frames.std() > 5


@needs_opengl
def test_a_film_has_a_poster_and_words_for_who_does_not_see_it(run):
    page = show.film(
        [run, run], ["left", "right"], alt='two "arms" & more', caption="a < b", fps=10, width=64, height=64
    ).data
    assert 'aria-label="two &quot;arms&quot; &amp; more"' in page
    assert "a &lt; b" in page
    assert re.search(r'poster="data:image/jpeg;base64,[A-Za-z0-9+/=]{100,}"', page)
    assert re.search(r'src="data:video/mp4;base64,[A-Za-z0-9+/=]{100,}"', page)
    assert " controls" in page
    assert "autoplay" not in page


@needs_opengl
def test_the_same_film_is_written_as_two_files(run, tmp_path):
    mp4, gif = films.write_films([run, run], ["a", "b"], tmp_path / "new" / "two.mp4", fps=10, width=80, height=60)
    assert mp4.read_bytes()[4:8] == b"ftyp"
    with Image.open(gif) as pictures:
        assert pictures.size == (160, 60 + films.LABEL_HEIGHT)
        assert pictures.n_frames == 1, "every second of two frames"


@needs_opengl
def test_pictures_carry_their_alt_text(run):
    image = show.still(run.arm, width=64, height=48)
    assert 'alt="one arm"' in show.pictures([image], ["home"], alt="one arm").data


def test_without_opengl_a_film_is_a_sentence(run, monkeypatch):
    def no_context(*args):
        raise RuntimeError("no context")

    monkeypatch.setattr(films.mujoco, "Renderer", no_context)
    assert "no OpenGL" in show.film([run], ["hold"], alt="an arm").data
    with pytest.raises(films.NoOpenGL, match="libegl1"):
        show.frames_of(run)


def test_an_unknown_camera_is_refused_with_those_that_exist(run):
    with pytest.raises(ValueError, match="side"):
        show.frames_of(run, camera="nowhere")


def test_a_film_needs_a_label_for_each_run(run):
    with pytest.raises(ValueError, match="label"):
        show.film([run, run], ["one"], alt="x")
    with pytest.raises(ValueError, match="at least one"):
        show.film([], [], alt="x")


def test_the_viewer_says_that_it_needs_a_display(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(RuntimeError, match="needs a display"):
        viewer.view(ik.panda(), ik.DampedLeastSquares())


@pytest.mark.skipif(sys.platform != "linux", reason="displays have names on Linux")
def test_the_viewer_says_that_a_display_cannot_be_opened():
    """MuJoCo would end the process, so it is asked in one of its own."""
    code = "import ikcourse as ik; from ikcourse.show import viewer; viewer.view(ik.panda(), ik.DampedLeastSquares())"
    environment = {**os.environ, "DISPLAY": ":77"}
    environment.pop("WAYLAND_DISPLAY", None)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert "RuntimeError: the viewer cannot open a window" in done.stderr


def test_the_viewer_needs_a_target_to_drag():
    with pytest.raises(ValueError, match="mocap"):
        viewer.view(ik.planar2(), ik.DampedLeastSquares())


class Window:
    """A viewer's window that closes after some frames, and in which a person does something at each."""

    def __init__(self, frames, person):
        self.left, self.person = frames, person

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    lock = __enter__

    def __call__(self):
        return self

    def is_running(self):
        self.left -= 1
        return self.left >= 0

    def sync(self):
        self.person(self.left)


def view_with(monkeypatch, frames, person):
    """Run the viewer's loop on a window of ours; returns the simulation that it drove."""
    seen = {}

    def launch(model, data, key_callback, **_):
        seen.update(data=data, press=key_callback)
        window = Window(frames, lambda left: person(left, seen))
        window.lock = lambda: window
        return window

    monkeypatch.setattr(viewer, "_require_display", lambda: None)
    import mujoco.viewer

    monkeypatch.setattr(mujoco.viewer, "launch_passive", launch)
    monkeypatch.setattr(viewer.time, "sleep", lambda seconds: None)
    arm = ik.panda()
    viewer.view(arm, ik.DampedLeastSquares(1e-2, 5.0))
    return arm, seen["data"]


def test_the_viewer_follows_a_target_dragged_in_the_simulation_it_drives(monkeypatch):
    def drag(left, seen):
        seen["data"].mocap_pos[0, 2] = 0.40

    arm, data = view_with(monkeypatch, 200, drag)
    assert ik.site_pose(arm, data)[0][2] == pytest.approx(0.40, abs=0.03)


def test_backspace_puts_everything_back(monkeypatch):
    def drag_then_reset(left, seen):
        if left > 1:
            seen["data"].mocap_pos[0, 2] = 0.40
        elif left == 1:
            seen["press"](viewer.BACKSPACE)

    arm, data = view_with(monkeypatch, 60, drag_then_reset)
    np.testing.assert_allclose(data.qpos[arm.qpos_addresses], arm.home, atol=1e-3)
    np.testing.assert_allclose(data.mocap_pos, arm.model.key_mpos.reshape(-1, 3))


def test_the_numbers_and_the_viewer_need_nothing_that_draws():
    code = (
        "import ikcourse as ik, sys; from ikcourse.show import viewer; arm = ik.panda(); "
        "ik.track(arm, ik.hold(arm, 0.02), ik.DampedLeastSquares()); "
        "drawn = [m for m in ('matplotlib', 'mediapy', 'ipywidgets', 'PIL') if m in sys.modules]; "
        "assert not drawn, drawn"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
