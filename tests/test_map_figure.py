"""The map's picture: each run's colour says its end, and where ends are tossed the picture shows a share."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb

from ikcourse.show import COLOURS, map_figure
from ikcourse.studies import map_facts
from ikcourse.studies.collapse_map import PIXEL, STATES, Grid, Map
from ikcourse.studies.ends import EndState

mpl.use("agg")

HOME, FOLDED, UNDECIDED = (STATES.index(state) for state in (EndState.HEALTHY, EndState.COLLAPSED, EndState.UNDECIDED))


def pixels(states, errors):
    made = np.zeros(np.shape(states), PIXEL)
    made["state"], made["final_error_m"] = states, errors
    return made


@pytest.fixture
def found():
    """Eight dampings, 1e-6 to 10, and four reaches; gain 0 folds beyond the first reach, gain 0.5 never does."""
    grid = Grid(tuple(10.0 ** np.arange(-6, 2)), (0.69, 0.70, 0.71, 0.72), (0.0, 0.5), 1e-6, (0.70,))
    made = np.zeros((2, 4, 8), PIXEL)
    made["final_error_m"] = 0.006
    made["state"][0, 1:, [0, 3, 4]] = FOLDED
    made["state"][0, 2, 1] = UNDECIDED
    return Map(grid, made, np.zeros(1, PIXEL))


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_home_without_lag_is_blank_and_undecided_is_black():
    drawn = map_figure.picture(pixels([HOME, UNDECIDED], [0.006, 0.3]))
    np.testing.assert_array_equal(drawn, [[1, 1, 1], [0, 0, 0]])


def test_lag_ends_in_the_healthy_colour_and_a_fold_passes_through_the_collapsed_one():
    far_behind = map_figure.picture(pixels([HOME], [0.1]))[0]
    np.testing.assert_allclose(far_behind, to_rgb(COLOURS["healthy"]), atol=0.01)
    halfway = map_figure.picture(pixels([FOLDED], [0.275]))[0]
    np.testing.assert_allclose(halfway, to_rgb(COLOURS["collapsed"]), atol=0.02)


@pytest.mark.parametrize("state", [HOME, FOLDED])
def test_a_larger_error_is_darker(state):
    errors = np.linspace(0.02, 0.09, 5) if state == HOME else np.linspace(0.12, 0.44, 5)
    light = map_figure.picture(pixels([state] * 5, errors)) @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(light) < 0).all()


def test_no_lag_looks_like_a_fold():
    homes = map_figure.picture(pixels([HOME] * 50, np.linspace(0, 0.1, 50)))
    folds = map_figure.picture(pixels([FOLDED] * 50, np.linspace(0.05, 0.6, 50)))
    apart = np.linalg.norm(homes[:, None] - folds[None], axis=2)
    assert apart.min() > 0.4


def test_a_block_shares_its_share():
    flags = np.zeros((3, 5), bool)
    flags[0, 0] = flags[2, 4] = True
    np.testing.assert_allclose(
        map_figure.pooled(flags, (2, 3)), [[1 / 6] * 3 + [0] * 2, [1 / 6] * 3 + [0] * 2, [0] * 3 + [0.5] * 2]
    )


def test_undecided_did_not_come_home():
    np.testing.assert_array_equal(map_facts.lost(pixels([HOME, FOLDED, UNDECIDED], [0, 0, 0])), [False, True, True])


def test_the_share_counts_from_the_first_reach_at_which_somebody_is_lost(found):
    share, error = map_figure.share_by_damping(found, 0)
    np.testing.assert_allclose(share, [1, 1 / 3, 0, 1, 1, 0, 0, 0])
    np.testing.assert_allclose(error[1], np.sqrt(2 / 9 / 3))
    assert error[0] == 0
    np.testing.assert_array_equal(map_figure.share_by_damping(found, 1), np.zeros((2, 8)))


def test_below_the_coin_toss_the_picture_shows_shares_and_above_it_runs(found):
    _, axes = plt.subplots()
    map_figure.draw_map(axes, found, 0)
    drawn = np.asarray(axes.images[0].get_array())
    assert drawn.shape == (4, 8, 3)
    shares = map_figure.share_ramp()(map_figure.pooled(map_facts.lost(found.pixels[0])[:, :3]))[..., :3]
    np.testing.assert_array_equal(drawn[:, :3], shares)
    np.testing.assert_array_equal(drawn[:, 3:], map_figure.picture(found.pixels[0])[:, 3:])


def test_a_run_lies_where_its_axes_say(found):
    _, axes = plt.subplots()
    map_figure.draw_map(axes, found, 0, reach_limit=0.699)
    left, right, low, high = axes.images[0].get_extent()
    assert (left, right) == pytest.approx((-6.5, 1.5))
    assert (low, high) == pytest.approx((0.685, 0.725))
    assert axes.images[0].origin == "lower"
    assert any(set(line.get_ydata()) == {0.699} for line in axes.lines)


def test_the_figure_has_a_map_and_a_share_for_every_gain(found):
    figure = map_figure.map_figure(found)
    titles = [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes]
    assert [title for title in titles if title] == ["gain 0", "gain 0.5"]
    assert [axes.get_xlabel() for axes in figure.axes].count("damping λ") == 2
    words = " ".join(text.get_text() for text in figure.axes[-1].texts)
    assert all(word in words for word in ("not home", "behind", "folded", "undecided"))


@pytest.mark.parametrize(
    ("dampings", "reaches", "words"),
    [
        ((1e-3, 1e-2, 5e-2), (0.70, 0.71), "equal ratios"),
        ((1e-3, 1e-2), (0.70, 0.71, 0.73), "equal steps"),
        ((1e-3,), (0.70, 0.71), "at least 2 dampings and 2 reaches; got 1 and 2"),
    ],
)
def test_a_grid_that_cannot_be_drawn_truly_is_refused(dampings, reaches, words):
    grid = Grid(dampings, reaches, (0.0,), 1e-6, (0.7,))
    blank = Map(grid, np.zeros((1, len(reaches), len(dampings)), PIXEL), np.zeros(1, PIXEL))
    _, axes = plt.subplots()
    with pytest.raises(ValueError, match=words):
        map_figure.draw_map(axes, blank, 0)
