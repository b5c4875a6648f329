"""What the bench prints, and that it times the same runs in each of its ways. How long they take is not tested."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ikcourse.studies import bench

SETTINGS = [(0.70, 0.0, 1e-3), (0.66, 0.5, 1e-2)]


@pytest.mark.parametrize(
    ("ratios", "seconds", "verdicts"),
    [
        ([2.0, 2.5, 9.0], [[15.0, 10.0, 100.0]], ["met", "met", "met"]),
        ([2.0, 3.6, 9.0], [[15.0, 10.0, 100.0]], ["MISSED", "met", "met"]),
        ([2.5], [[23.0, 10.0, 150.0]], ["met", "MISSED", "met"]),
        ([2.5], [[15.0, 10.0, 89.0], [15.0, 10.0, 89.0], [15.0, 10.0, 900.0]], ["met", "met", "MISSED"]),
    ],
)
def test_it_says_which_bounds_are_met(monkeypatch, capsys, ratios, seconds, verdicts):
    monkeypatch.setattr(bench, "ratios", lambda: (ratios, 20.0))
    monkeypatch.setattr(bench, "batch_seconds", lambda: np.array(seconds))
    bench.print_ratio()
    said = capsys.readouterr().out
    assert [line.split()[-1] for line in said.splitlines() if line.startswith("bound")] == verdicts
    assert "20.0 microseconds" in said


def test_the_batch_is_timed_against_a_replay_of_its_own_runs():
    seconds = bench.batch_seconds(SETTINGS, repeats=2)
    assert seconds.shape == (2, 3)
    assert (seconds > 0).all()


def test_a_replay_of_other_controls_is_not_timed(monkeypatch):
    real = bench.track_many

    def bent(*arguments, **options):
        return [replace(run, setpoints=run.setpoints + 0.1) for run in real(*arguments, **options)]

    monkeypatch.setattr(bench, "track_many", bent)
    with pytest.raises(RuntimeError, match="the replay does not follow the runs"):
        bench.batch_seconds(SETTINGS, repeats=1)
