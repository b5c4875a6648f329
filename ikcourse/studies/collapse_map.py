"""The collapse map: damping across, reach up, one run a pixel, and whether a nanometre would have changed its end.

Every pixel is a run of the built-in Panda and a twin whose reach is a nanometre longer; where the two end differently
the pixel is sensitive, and says nothing about the damping. Rows are computed one by one and kept as they finish, so
an interrupted map goes on where it stopped, here or spread over the processes of a dask cluster.
"""

from __future__ import annotations

import functools
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ikcourse import scenes
from ikcourse.arm import Arm
from ikcourse.laws import DampedLeastSquares
from ikcourse.paths import reach_and_return
from ikcourse.studies.ends import EndState, Reason, end
from ikcourse.studies.many import Progress, run_all
from ikcourse.studies.tables import replacing

FILE, BINARY, PARTIAL = "collapse_map.npz", "collapse_map.bin", "collapse_map.partial"
STATES, REASONS = tuple(EndState), tuple(Reason)
UNREADABLE = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error)
"""What NumPy raises for a file that is no array, or not a whole one."""
TWIN = 1e-9
"""How much longer the twin's reach is [m]."""


@dataclass(frozen=True)
class Row:
    """One line of runs: the reaches and dampings of its pixels, and the gain that they share.

    A map's row has one reach and many dampings; a panel has one damping and many reaches.
    """

    name: str
    gain: float
    reaches: tuple[float, ...]
    dampings: tuple[float, ...]


PIXEL = np.dtype([("state", "u1"), ("reason", "u1"), ("sensitive", "?"), ("final_error_m", "f4"), ("drift_rad", "f4")])
"""A run: index into STATES and REASONS, whether its twin ends in another state, and how far off it ended."""


@dataclass(frozen=True)
class Grid:
    """The grid that is drawn; its doubles are stored, never recomputed.

    Attributes:
        dampings: (D,).
        reaches: (R,) [m].
        gains: null-space gains, (G,) [1/s].
        panel_damping: the lambda of the panel, along `panel_reaches`, (P,) [m].
    """

    dampings: tuple[float, ...]
    reaches: tuple[float, ...]
    gains: tuple[float, ...]
    panel_damping: float
    panel_reaches: tuple[float, ...]

    def is_like(self, other: Grid) -> bool:
        """Whether the other has the same points, but for the last bit that another machine's powers may turn."""
        mine, theirs = (
            (grid.dampings, grid.reaches, grid.gains, (grid.panel_damping,), grid.panel_reaches)
            for grid in (self, other)
        )
        return all(
            len(a) == len(b) and np.allclose(a, b, rtol=1e-12, atol=0) for a, b in zip(mine, theirs, strict=True)
        )

    def rows(self) -> list[Row]:
        """What is to be run, a chunk each, in order."""
        maps = [
            Row(f"map-{g}-{r:03d}", gain, (reach,) * len(self.dampings), self.dampings)
            for g, gain in enumerate(self.gains)
            for r, reach in enumerate(self.reaches)
        ]
        width = len(self.dampings)
        starts = range(0, len(self.panel_reaches), width)
        pieces = [self.panel_reaches[start : start + width] for start in starts]
        panel = [
            Row(f"panel-{k:03d}", 0.0, piece, (self.panel_damping,) * len(piece)) for k, piece in enumerate(pieces)
        ]
        return [*panel, *maps]


GRID = Grid(
    dampings=tuple((10 ** np.linspace(-6, 0, 192)).tolist()),
    reaches=tuple(np.linspace(0.695, 0.740, 128).tolist()),
    gains=(0.0, 0.5),
    panel_damping=1e-6,
    panel_reaches=tuple(np.linspace(0.695, 0.740, 2000).tolist()),
)


@functools.cache
def _panda() -> Arm:
    return scenes.panda()


def run_row(row: Row) -> np.ndarray:
    """The pixels of a row, (N,) of PIXEL; any process that has the package can run it."""
    arm = _panda()
    laws = [DampedLeastSquares(damping, row.gain) for damping in row.dampings]
    pixels = np.zeros(len(laws), PIXEL)
    paths = [reach_and_return(arm, reach) for reach in row.reaches]
    for pixel, run in zip(pixels, run_all(arm, paths, laws), strict=True):
        ended = end(run)
        pixel["state"], pixel["reason"] = STATES.index(ended.state), REASONS.index(ended.reason)
        pixel["final_error_m"] = run.position_error[-1]
        pixel["drift_rad"] = run.distance_from_home.max()
    twins = [reach_and_return(arm, reach + TWIN) for reach in row.reaches]
    for pixel, run in zip(pixels, run_all(arm, twins, laws), strict=True):
        pixel["sensitive"] = pixel["state"] != STATES.index(end(run).state)
    return pixels


def run_rows(rows: Sequence[Row], scheduler: str | None = None) -> Iterator[tuple[Row, np.ndarray]]:
    """Each row with its pixels, as they finish: in this process, or on the dask cluster at an address.

    Raises:
        RuntimeError: the package `dask.distributed` is not installed, no scheduler answers, or the cluster was lost.
    """
    if scheduler is None:
        for row in rows:
            yield row, run_row(row)
        return
    try:
        from distributed import CancelledError, Client, KilledWorker, as_completed
    except ImportError:
        raise RuntimeError("--scheduler needs a package: pip install 'ikcourse[fleet]'") from None
    try:
        client = Client(scheduler, timeout="10s")
    except OSError as error:
        raise RuntimeError(f"no dask scheduler answers at {scheduler}: {error}") from error
    with client:
        waiting = dict(zip(client.map(run_row, rows, pure=False), rows, strict=True))
        for future in as_completed(list(waiting)):
            try:
                pixels = future.result()
            except (CancelledError, KilledWorker) as error:
                raise RuntimeError(
                    f"the dask cluster at {scheduler} was lost with {len(waiting)} rows to come "
                    f"({type(error).__name__}); those that came are kept, and the same command goes on from them"
                ) from error
            yield waiting.pop(future), pixels


def compute(folder: Path, grid: Grid = GRID, scheduler: str | None = None, progress: Progress = iter) -> np.ndarray:
    """Every row of the grid; those that a former call kept in the folder are read, not run again.

    Returns:
        The pixels in the order of `grid.rows()`, flat.
    """
    partial = folder / PARTIAL
    rows = grid.rows()
    found = {row.name: pixels for row in rows if (pixels := _kept(partial, row)) is not None}
    waiting = [row for row in rows if row.name not in found]
    done = run_rows(waiting, scheduler)
    for _ in progress(range(len(waiting))):
        row, pixels = next(done)
        _keep(partial, row, pixels)
        found[row.name] = pixels
    return np.concatenate([found[row.name] for row in rows])


def _fingerprint(row: Row) -> np.ndarray:
    return np.array([row.gain, *row.reaches, *row.dampings])


def _keep(partial: Path, row: Row, pixels: np.ndarray) -> None:
    partial.mkdir(parents=True, exist_ok=True)  # each time: another process may have finished this map and cleared it
    with replacing(partial / f"{row.name}.npz") as unfinished:
        np.savez(unfinished, of=_fingerprint(row), pixels=pixels)


def _kept(partial: Path, row: Row) -> np.ndarray | None:
    """The row's pixels where a former call kept them, and kept them of this very row."""
    file = partial / f"{row.name}.npz"
    if not file.exists():
        return None
    try:
        with np.load(file) as kept:
            same = np.array_equal(kept["of"], _fingerprint(row))
            return kept["pixels"] if same else None
    except UNREADABLE:
        return None


@dataclass(frozen=True)
class Map:
    """What the file holds: the grid, its pixels (G, R, D), and the panel's (P,)."""

    grid: Grid
    pixels: np.ndarray
    panel: np.ndarray


def assemble(grid: Grid, flat: np.ndarray) -> Map:
    """The map from the pixels of `grid.rows()`."""
    panel = len(grid.panel_reaches)
    shape = len(grid.gains), len(grid.reaches), len(grid.dampings)
    return Map(grid, flat[panel:].reshape(shape), flat[:panel])


def save(found: Map, folder: Path) -> list[Path]:
    """Write the compressed array, and the small binary that a browser reads."""
    grid = found.grid
    with replacing(folder / FILE) as unfinished:
        np.savez_compressed(
            unfinished,
            dampings=grid.dampings,
            reaches_m=grid.reaches,
            nullspace_gains=grid.gains,
            panel_damping=grid.panel_damping,
            panel_reaches_m=grid.panel_reaches,
            pixels=found.pixels,
            panel=found.panel,
        )
    with replacing(folder / BINARY) as unfinished:
        unfinished.write_bytes(binary(found))
    return [folder / FILE, folder / BINARY]


def load(file: Path) -> Map:
    """Read what `save` wrote; ValueError where the file holds no map, or not a whole one."""
    try:
        with np.load(file) as kept:
            grid = Grid(
                tuple(kept["dampings"].tolist()),
                tuple(kept["reaches_m"].tolist()),
                tuple(kept["nullspace_gains"].tolist()),
                float(kept["panel_damping"]),
                tuple(kept["panel_reaches_m"].tolist()),
            )
            return Map(grid, kept["pixels"], kept["panel"])
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        raise ValueError(f"{file} holds no whole collapse map: {error}; move it away to compute it anew") from error


def binary(found: Map) -> bytes:
    """The map for a browser, little-endian.

    "OORM", then uint32 G, R, D; float64 gains, reaches [m], dampings; then for every pixel, in C order, planes of uint8
    flags (state + 4 * sensitive), uint16 final error [0.1 mm] and uint16 drift [0.1 mrad].
    """
    grid, pixels = found.grid, found.pixels
    flags = (pixels["state"] + 4 * pixels["sensitive"]).astype("u1")
    tenths = [
        np.clip(np.rint(pixels[name].astype(float) * 1e4), 0, 65535).astype("<u2")
        for name in ("final_error_m", "drift_rad")
    ]
    axes = np.array([*grid.gains, *grid.reaches, *grid.dampings], "<f8")
    return b"".join(
        [b"OORM", np.array(pixels.shape, "<u4").tobytes(), axes.tobytes(), flags.tobytes()]
        + [plane.tobytes() for plane in tenths]
    )


def checked(kept: Map) -> list[tuple[Row, np.ndarray]]:
    """The sub-grid that `results --check` runs again: every 16th reach and damping of each map, with its pixels."""
    grid, coarse = kept.grid, slice(8, None, 16)
    dampings = grid.dampings[coarse]
    return [
        (Row("check", gain, (reach,) * len(dampings), dampings), kept.pixels[g, r, coarse])
        for g, gain in enumerate(grid.gains)
        for r, reach in list(enumerate(grid.reaches))[coarse]
    ]


def clear(folder: Path) -> None:
    """Forget the rows that an interrupted map kept."""
    shutil.rmtree(folder / PARTIAL, ignore_errors=True)
