"""The collapse map: its pixels are runs of `track`, it goes on where it stopped, and its facts are what it holds."""

import contextlib
import dataclasses

import numpy as np
import pytest

import ikcourse as ik
from ikcourse.studies import collapse_map, ends, map_facts, results
from ikcourse.studies.collapse_map import PIXEL, STATES, Grid, Map
from ikcourse.studies.ends import EndState

SMALL = Grid(
    dampings=(1e-3, 1e-2, 1e-1),
    reaches=(0.698, 0.701, 0.72),
    gains=(0.0, 0.5),
    panel_damping=1e-2,
    panel_reaches=(0.70, 0.72, 0.725, 0.73),
)
FOLDED = STATES.index(EndState.COLLAPSED)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder that holds the small map."""
    made = tmp_path_factory.mktemp("map")
    results.CollapseMap(SMALL).write(made, [], iter)
    return made


@pytest.fixture
def found(folder):
    return collapse_map.load(folder / collapse_map.FILE)


def test_a_pixel_is_a_run(found):
    arm = ik.panda()
    for g, r, d in ((0, 0, 0), (0, 1, 1), (0, 2, 2), (1, 1, 1)):
        path = ik.reach_and_return(arm, SMALL.reaches[r])
        run = ik.track(arm, path, ik.DampedLeastSquares(SMALL.dampings[d], SMALL.gains[g]))
        pixel = found.pixels[g, r, d]
        assert STATES[pixel["state"]] is ends.end(run).state
        assert collapse_map.REASONS[pixel["reason"]] is ends.end(run).reason
        assert pixel["final_error_m"] == np.float32(run.position_error[-1])
        assert pixel["drift_rad"] == np.float32(run.distance_from_home.max())
    assert {STATES[state] for state in found.pixels["state"].ravel()} >= {EndState.HEALTHY, EndState.COLLAPSED}


def test_the_panel_runs_along_the_reach_at_gain_zero(found):
    arm = ik.panda()
    for reach, pixel in zip(SMALL.panel_reaches, found.panel, strict=True):
        run = ik.track(arm, ik.reach_and_return(arm, reach), ik.DampedLeastSquares(SMALL.panel_damping))
        assert STATES[pixel["state"]] is ends.end(run).state


def test_the_grid_comes_back_to_the_last_bit(found):
    assert found.grid == SMALL


def test_the_full_grid_has_the_shape_that_the_book_speaks_of():
    grid = collapse_map.GRID
    assert (len(grid.dampings), len(grid.reaches), grid.gains) == (192, 128, (0.0, 0.5))
    assert (grid.dampings[0], grid.dampings[-1]) == pytest.approx((1e-6, 1))
    assert (grid.reaches[0], grid.reaches[-1], len(grid.panel_reaches)) == (0.695, 0.740, 2000)
    rows = grid.rows()
    assert sum(len(row.dampings) for row in rows) == 2 * 192 * 128 + 2000
    assert len({row.name for row in rows}) == len(rows)


def test_a_pixel_is_sensitive_where_its_twin_ends_elsewhere(monkeypatch):
    row = collapse_map.Row("planted", 0.0, (0.701, 0.66), (1e-2, 1e-2))
    assert list(collapse_map.run_row(row)["sensitive"]) == [False, False]
    monkeypatch.setattr(collapse_map, "TWIN", -0.02)  # a twin that does not reach the fold
    assert list(collapse_map.run_row(row)["sensitive"]) == [True, False]


def test_an_interrupted_map_goes_on_where_it_stopped(folder, tmp_path, monkeypatch):
    ran, run_row = [], collapse_map.run_row

    def interrupted(row):
        if len(ran) == 3:
            raise KeyboardInterrupt
        ran.append(row.name)
        return run_row(row)

    monkeypatch.setattr(collapse_map, "run_row", interrupted)
    with pytest.raises(KeyboardInterrupt):
        collapse_map.compute(tmp_path, SMALL)
    assert len(list((tmp_path / collapse_map.PARTIAL).glob("*.npz"))) == 3
    broken = next((tmp_path / collapse_map.PARTIAL).glob("*.npz"))
    broken.write_bytes(broken.read_bytes()[:50])  # a disk that was full

    monkeypatch.setattr(collapse_map, "run_row", lambda row: ran.append(row.name) or run_row(row))
    steps = []
    flat = collapse_map.compute(tmp_path, SMALL, progress=lambda rows: steps.extend(rows) or rows)
    names = [row.name for row in SMALL.rows()]
    assert sorted(ran) == sorted([*names, broken.stem]), "a whole row is not run again, a broken one is"
    assert len(steps) == len(names) - 2, "the bar counts what is left"
    kept = collapse_map.load(folder / collapse_map.FILE)
    assert collapse_map.assemble(SMALL, flat).pixels.tobytes() == kept.pixels.tobytes()


def test_a_row_that_was_kept_of_another_grid_is_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(collapse_map, "run_row", lambda row: np.zeros(len(row.dampings), PIXEL))
    collapse_map.compute(tmp_path, SMALL)
    ran = []
    monkeypatch.setattr(collapse_map, "run_row", lambda row: ran.append(row.name) or np.zeros(len(row.dampings), PIXEL))
    collapse_map.compute(tmp_path, SMALL)
    assert ran == []
    collapse_map.compute(tmp_path, dataclasses.replace(SMALL, dampings=(1e-3, 1e-2, 1.1e-1)))
    assert len(ran) == 6, "the six rows of the two maps, not the panel"


def test_a_second_time_leaves_the_same_bytes_and_no_rows_behind(folder, tmp_path):
    results.CollapseMap(SMALL).write(tmp_path, [], iter)
    for name in (collapse_map.FILE, collapse_map.BINARY):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    assert not (tmp_path / collapse_map.PARTIAL).exists()


def test_two_processes_of_a_dask_cluster_make_the_same_map(folder, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        address = cluster.scheduler_address
        results.CollapseMap(SMALL).write(tmp_path, [], iter, scheduler=address)
    assert (tmp_path / collapse_map.FILE).read_bytes() == (folder / collapse_map.FILE).read_bytes()


def test_a_scheduler_that_does_not_answer_is_said(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(RuntimeError, match=r"no dask scheduler answers at tcp://127.0.0.1:9"):
        collapse_map.compute(tmp_path, SMALL, scheduler="tcp://127.0.0.1:9")


def test_a_cluster_that_is_lost_is_said_and_its_rows_are_kept(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")

    class Future:
        def __init__(self, error=None):
            self.error = error

        def result(self):
            if self.error:
                raise self.error
            return np.zeros(3, PIXEL)

    class Client(contextlib.nullcontext):
        def __init__(self, address, timeout):
            super().__init__()

        def map(self, run_row, rows, pure):
            return [Future(), Future(), Future(distributed.CancelledError("map-0-001")), *map(Future, rows[3:])]

    monkeypatch.setattr(distributed, "Client", Client)
    monkeypatch.setattr(distributed, "as_completed", iter)
    with pytest.raises(RuntimeError, match=r"tcp://here was lost with 6 rows to come \(CancelledError\)"):
        collapse_map.compute(tmp_path, SMALL, scheduler="tcp://here")
    assert len(list((tmp_path / collapse_map.PARTIAL).iterdir())) == 2


def test_two_processes_may_make_one_map_in_one_folder(folder, tmp_path, monkeypatch):
    """The other, as fast, finishes and clears the rows while this one is at its second."""
    kept = collapse_map.load(folder / collapse_map.FILE)
    rows, width = SMALL.rows(), len(SMALL.dampings)
    flat = np.concatenate([kept.panel, kept.pixels.ravel()])
    starts = np.cumsum([0, *(len(row.dampings) for row in rows)])
    pixels = {row.name: flat[start : start + len(row.dampings)] for row, start in zip(rows, starts, strict=False)}
    assert {len(found) for found in pixels.values()} == {1, width}
    ran = []

    def run_row(row):
        ran.append(row.name)
        if len(ran) == 2:
            collapse_map.clear(tmp_path)
        return pixels[row.name]

    monkeypatch.setattr(collapse_map, "run_row", run_row)
    results.CollapseMap(SMALL).write(tmp_path, [], iter)
    assert ran == [row.name for row in rows]
    for name in (collapse_map.FILE, collapse_map.BINARY):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 and no more", b"no array"])
def test_a_row_and_a_map_that_are_no_whole_file(damage, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(collapse_map, "run_row", lambda row: np.zeros(len(row.dampings), PIXEL))
    flat = collapse_map.compute(tmp_path, SMALL)
    for file in (tmp_path / collapse_map.PARTIAL).iterdir():
        file.write_bytes(damage)
    assert collapse_map.compute(tmp_path, SMALL).tobytes() == flat.tobytes(), "a broken row is run again"
    whole = (folder / collapse_map.FILE).read_bytes()
    file = tmp_path / collapse_map.FILE
    for content in (damage, whole[: len(whole) // 2], whole[:-30]):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="holds no whole collapse map"):
            results.CollapseMap(SMALL).write(tmp_path, [], iter)
        assert file.read_bytes() == content, "what may be somebody's stays"
    with pytest.raises(FileNotFoundError):
        collapse_map.load(tmp_path / "nothing.npz")


def test_an_interrupted_save_leaves_the_old_map(folder, found, tmp_path, monkeypatch):
    collapse_map.save(found, tmp_path)

    def interrupted(file, **arrays):
        file.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        collapse_map.save(found, tmp_path)
    assert (tmp_path / collapse_map.FILE).read_bytes() == (folder / collapse_map.FILE).read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_the_binary_reads_as_its_description_says(found):
    data = collapse_map.binary(found)
    assert data[:4] == b"OORM"
    gains, reaches, dampings = shape = tuple(np.frombuffer(data, "<u4", 3, 4))
    assert shape == found.pixels.shape
    axes = np.frombuffer(data, "<f8", gains + reaches + dampings, 16)
    assert tuple(axes) == (*SMALL.gains, *SMALL.reaches, *SMALL.dampings)
    start, count = 16 + 8 * len(axes), gains * reaches * dampings
    flags = np.frombuffer(data, "u1", count, start).reshape(shape)
    np.testing.assert_array_equal(flags & 3, found.pixels["state"])
    np.testing.assert_array_equal(flags >> 2, found.pixels["sensitive"])
    error, drift = np.frombuffer(data, "<u2", 2 * count, start + count).reshape(2, *shape)
    np.testing.assert_allclose(error * 1e-4, found.pixels["final_error_m"], atol=5.1e-5)
    np.testing.assert_allclose(drift * 1e-4, found.pixels["drift_rad"], atol=5.1e-5)
    assert len(data) == start + 5 * count


# ----- the check


@pytest.fixture
def every_pixel(monkeypatch):
    """The check runs every pixel of the first map again, not the sub-grid of a map that is much larger."""

    def checked(kept):
        grid = kept.grid
        return [
            (collapse_map.Row("check", 0.0, (reach,) * 3, grid.dampings), kept.pixels[0, r])
            for r, reach in enumerate(grid.reaches)
        ]

    monkeypatch.setattr(collapse_map, "checked", checked)


def test_a_check_sees_a_pixel_that_ends_otherwise_unless_it_is_sensitive(found, tmp_path, every_pixel):
    study = results.CollapseMap(SMALL)
    collapse_map.save(found, tmp_path)
    assert study.check(tmp_path, [], iter) == []
    found.pixels["state"][0, 2, 1] = STATES.index(EndState.UNDECIDED)
    collapse_map.save(found, tmp_path)
    assert "1 of the pixels" in " ".join(study.check(tmp_path, [], iter))
    found.pixels["sensitive"][0, 2, 1] = True
    collapse_map.save(found, tmp_path)
    assert study.check(tmp_path, [], iter) == []


def test_a_check_leaves_out_a_pixel_that_is_sensitive_in_one_of_the_two_computations(
    found, tmp_path, every_pixel, monkeypatch
):
    study = results.CollapseMap(SMALL)
    fresh = {reach: found.pixels[0, r].copy() for r, reach in enumerate(SMALL.reaches)}
    monkeypatch.setattr(collapse_map, "run_row", lambda row: fresh[row.reaches[0]])
    collapse_map.save(found, tmp_path)
    pixel = fresh[SMALL.reaches[2]][1:2]
    pixel["state"] = STATES.index(EndState.UNDECIDED)
    assert "1 of the pixels" in " ".join(study.check(tmp_path, [], iter))
    pixel["sensitive"] = True
    assert study.check(tmp_path, [], iter) == []


def test_a_check_sees_another_grid_and_another_binary(found, tmp_path, every_pixel):
    collapse_map.save(found, tmp_path)
    (tmp_path / collapse_map.BINARY).write_bytes(b"OORM")
    assert collapse_map.BINARY in " ".join(results.CollapseMap(SMALL).check(tmp_path, [], iter))
    other = dataclasses.replace(SMALL, gains=(0.0, 0.6))
    assert "another grid" in " ".join(results.CollapseMap(other).check(tmp_path, [], iter))


def test_doubles_that_differ_in_the_last_bit_are_the_same_grid():
    turned = dataclasses.replace(SMALL, dampings=tuple(np.nextafter(SMALL.dampings, 1)))
    assert SMALL.is_like(turned)
    assert not SMALL.is_like(dataclasses.replace(SMALL, dampings=(1e-3, 1e-2)))
    assert not SMALL.is_like(dataclasses.replace(SMALL, reaches=(0.698, 0.701, 0.7200001)))


def test_the_sub_grid_of_a_check_is_of_the_map_itself():
    grid = collapse_map.GRID
    shape = len(grid.gains), len(grid.reaches), len(grid.dampings)
    pixels = np.zeros(shape, PIXEL)
    pixels["drift_rad"] = np.arange(pixels.size).reshape(shape)
    rows = collapse_map.checked(Map(grid, pixels, np.zeros(len(grid.panel_reaches), PIXEL)))
    assert sum(len(row.dampings) for row, _ in rows) >= 96
    for row, kept in rows:
        g, r = grid.gains.index(row.gain), grid.reaches.index(row.reaches[0])
        for damping, pixel in zip(row.dampings, kept, strict=True):
            assert pixel == pixels[g, r, grid.dampings.index(damping)]


# ----- the facts


def planted(share_below=0.4, seed=0):
    """A map whose tongue and coin toss are known: folded from 2e-3 to 5e-2 beyond 0.70 m, tosses below 1e-3."""
    grid = Grid(
        tuple((10 ** np.linspace(-6, 0, 61)).tolist()),
        tuple(np.linspace(0.69, 0.74, 51).tolist()),
        (0.0,),
        1e-6,
        tuple(np.linspace(0.69, 0.74, 500).tolist()),
    )
    rng = np.random.default_rng(seed)
    dampings, reaches = np.array(grid.dampings), np.array(grid.reaches)[:, None]
    tongue = (dampings > 2e-3) & (dampings < 5e-2)
    toss = (dampings < 1e-3) & (rng.random((51, 61)) < share_below)
    pixels, panel = np.zeros((1, 51, 61), PIXEL), np.zeros(500, PIXEL)
    pixels["state"][0] = np.where((reaches > 0.7005) & (tongue | toss), FOLDED, 0)
    panel["state"] = np.where((np.array(grid.panel_reaches) > 0.7) & (rng.random(500) < share_below), FOLDED, 0)
    return Map(grid, pixels, panel)


def test_the_edges_of_a_planted_tongue_are_found():
    made = planted()
    dampings = np.array(made.grid.dampings)
    inside = dampings[(dampings > 2e-3) & (dampings < 5e-2)]
    assert map_facts.tongue(made, 0, 40) == (inside[0], inside[-1])
    assert map_facts.tongue(made, 0, 0) is None
    assert map_facts.first_fold(made, 0) == made.grid.reaches[11]


def test_a_hole_in_the_tongue_is_not_jumped():
    made = planted()
    dampings = np.array(made.grid.dampings)
    inside = np.flatnonzero((dampings > 2e-3) & (dampings < 5e-2))
    made.pixels["state"][0, 40, inside[3]] = 0
    assert map_facts.tongue(made, 0, 40) == (dampings[inside[4]], dampings[inside[-1]])


def test_an_arm_that_is_still_coming_down_belongs_to_the_tongue():
    made = planted()
    edges = map_facts.tongue(made, 0, 40)
    at = made.grid.dampings.index(edges[1])
    made.pixels["state"][0, 40, at] = STATES.index(EndState.UNDECIDED)
    assert map_facts.tongue(made, 0, 40) == edges


def test_a_planted_coin_is_recognised_and_a_row_by_row_one_is_told_from_it():
    rows, columns = map_facts.coin_toss(planted(), 0)
    assert rows.lost == columns.lost == pytest.approx(0.4, abs=4 * rows.error)
    assert rows.spread == pytest.approx(rows.expected, rel=0.4)
    for one in (rows, columns):
        assert one.unlike == pytest.approx(one.by_chance, abs=0.05)
    striped = np.tile((np.arange(40) % 2 == 0)[:, None], (1, 30))
    assert map_facts.share(striped).spread > 3 * map_facts.share(striped).expected
    assert map_facts.share(striped).unlike == 0
    assert map_facts.share(striped.T).unlike == 1


def test_a_sensitive_pixel_of_every_state_has_its_flag():
    grid = Grid((1e-3, 1e-2, 1e-1), (0.7, 0.71), (0.0,), 1e-2, ())
    pixels = np.zeros((1, 2, 3), PIXEL)
    pixels["state"], pixels["sensitive"][0, 1] = [0, 1, 2], True
    data = collapse_map.binary(Map(grid, pixels, np.zeros(0, PIXEL)))
    assert list(data[16 + 8 * 6 :][:6]) == [0, 1, 2, 4, 5, 6]


def test_a_share_by_hand():
    """Three rows of four runs that lose one, two and three."""
    share = map_facts.share(np.array([[1, 0, 0, 0], [1, 0, 1, 0], [0, 1, 1, 1]], bool))
    assert (share.runs, share.lost, share.spread) == (12, 0.5, 0.25)
    assert share.error == pytest.approx(0.25 / np.sqrt(3))
    assert share.expected == pytest.approx(np.sqrt(0.5 * 0.5 / 4))
    assert (share.unlike, share.by_chance) == (pytest.approx(5 / 9), 0.5)


def test_facts_of_a_panel_count_from_the_first_loss():
    made = planted()
    made.panel["state"] = 0
    made.panel["state"][[100, 300, 301]] = FOLDED
    said = map_facts.facts(made)[-1]
    assert f"the first loss is at {1e3 * made.grid.panel_reaches[100]:.2f} mm, beyond it {3 / 400:.1%} do" in said
    assert f"neighbours differ in {3 / 399:.1%} of pairs" in said


def test_facts_name_the_rows_nearest_to_the_reaches_that_the_book_speaks_of():
    said = "\n".join(map_facts.facts(planted()))
    for reach in ("705.00", "720.00", "740.00"):
        assert f"reach {reach} mm: nobody comes home from lambda 0.00251 to 0.0398" in said
    assert "reach 700.00 mm" not in said, "there nobody folds"


def test_a_coin_needs_two_reaches_and_two_dampings():
    made = planted()
    made.pixels["state"][0, :-1] = 0
    assert map_facts.coin_toss(made, 0) is None


def test_facts_of_a_map_without_folds_say_so():
    made = planted()
    made.pixels["state"] = made.panel["state"] = 0
    said = "\n".join(map_facts.facts(made))
    assert "no run folds" in said
    assert "all of 500 runs come home" in said
    made.panel["state"][-1] = FOLDED
    assert "only the last of 500 runs does not come home" in "\n".join(map_facts.facts(made))


def test_facts_name_the_tongue_the_toss_and_the_panel():
    said = "\n".join(map_facts.facts(planted()))
    assert "nobody comes home from lambda" in said
    assert "standard error" in said
    assert "sensitive" in said
    assert "500 reaches" in said
