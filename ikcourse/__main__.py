"""The command line: `python -m ikcourse --help`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from tqdm import tqdm

from ikcourse import scenes
from ikcourse.laws import DampedLeastSquares
from ikcourse.paths import REACH, reach_and_return
from ikcourse.studies import bench, cost, damping, ends, results, tables
from ikcourse.studies.many import Progress
from ikcourse.track import track

TABLES = {
    "damping": "reach and return at eleven dampings: who comes home, and who folds",
    "nullspace": "the same reach with a pull towards home in the null space: six gains, nine dampings",
    "reach": "126 runs over distance, gain and damping",
    "ablation": "the same reach with one thing of the loop changed, or two, and what that is proved to have changed",
    "practice": "a circle, slow and fast: position servos, computed torque and operational space",
    "mink": "the reach as a quadratic programme: posture or none, one solver or another",
    "bakeoff": "every law over its own parameter, and mink, on five reaches that do not exist",
    "tuning": "integration_dt, the pull, the speed bound and the pace: the runs behind the tuning notes",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 where it succeeded, 1 with one clear sentence where it could not."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options) or 0)
    except (ValueError, RuntimeError, ArithmeticError, OSError) as error:
        print(f"ikcourse: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("ikcourse: stopped", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ikcourse", description="Differential inverse kinematics you can run."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    for name, purpose in TABLES.items():
        study = commands.add_parser(name, help=purpose)
        _add_model(study)
        study.add_argument(
            "--output",
            type=Path,
            default=results.FOLDER / _table(name).FILE,
            metavar="CSV",
            help="where to write the table (default %(default)s)",
        )
        study.set_defaults(run=_study, study=name)
    commands.choices["damping"].add_argument(
        "--reach",
        type=float,
        default=REACH,
        metavar="M",
        help="farthest distance from the shoulder [m] (default %(default)s)",
    )

    view = commands.add_parser("viewer", help="drag the target in MuJoCo's viewer; Backspace resets")
    _add_model(view)
    view.add_argument("--damping", type=float, default=1e-2, metavar="LAMBDA", help="lambda (default 1e-2)")
    view.add_argument(
        "--integration-dt", type=float, default=0.5, metavar="S", help="qdot to setpoint [s] (default 0.5)"
    )
    view.add_argument(
        "--nullspace-gain",
        type=float,
        default=5.0,
        metavar="GAIN",
        help="pull towards home [1/s] (default 5)",
    )
    view.add_argument(
        "--max-angvel",
        type=float,
        default=1.0,
        metavar="RAD_S",
        help="fastest joint [rad/s]; 0 for no bound (default 1.0)",
    )
    view.set_defaults(run=_viewer)

    pixels = commands.add_parser(
        "map", help="damping by reach, a run a pixel: an hour or two; goes on where it stopped"
    )
    pixels.add_argument("--output", type=Path, default=results.FOLDER, metavar="FOLDER", help="(default %(default)s)")
    pixels.add_argument("--scheduler", metavar="ADDRESS", help="spread the rows over this dask.distributed cluster")
    pixels.set_defaults(run=_map)

    film = commands.add_parser("demo", help="a reach that folds beside one that comes home, as MP4 and GIF")
    _add_model(film)
    film.add_argument(
        "--dampings",
        type=float,
        nargs="+",
        default=[1e-3, 1e-2],
        metavar="LAMBDA",
        help="one panel each (default 1e-3 1e-2)",
    )
    film.add_argument(
        "--reach", type=float, default=REACH, metavar="M", help="farthest distance from the shoulder [m] (default 0.70)"
    )
    film.add_argument("--output", type=Path, default=Path("demo"), metavar="FILE", help="(default demo.mp4, demo.gif)")
    film.set_defaults(run=_demo)

    everything = commands.add_parser("results", help="recompute every file in results/")
    everything.add_argument("--check", action="store_true", help="write nothing; fail where a file would change")
    everything.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help=f"this study alone; may be given again ({', '.join(results.STUDIES)})",
    )
    everything.set_defaults(run=_results)

    timing = commands.add_parser("bench", help="time one control step against a bare rollout of the same controls")
    timing.set_defaults(run=_bench)
    return parser


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", choices=scenes.SOURCES, default="builtin", help="which Panda (default builtin)")


def _table(name: str) -> ModuleType:
    """The module of a study that makes one table."""
    study = results.STUDIES[name]
    assert isinstance(study, results.Table)
    return study.module


def _progress(unit: str) -> Progress:
    return lambda steps: tqdm(steps, desc=unit, delay=1, leave=False, disable=None)


def _study(options: argparse.Namespace) -> None:
    module = _table(options.study)
    if options.output.is_dir():
        raise ValueError(f"--output names a folder, {options.output}; it needs a file, such as {module.FILE}")
    tables.require_place(options.output)
    if options.output.exists():
        tables.read(module.Row, options.output)  # refuses another table before the study runs, not after
    progress = _progress(options.study)
    own_reach = options.study == "damping" and options.reach != REACH
    if own_reach:
        rows = damping.study(scenes.panda(options.model), options.reach, progress=progress, model=options.model)
    else:
        rows = module.compute(options.model, module.SETTINGS, progress)
    print(tables.table(rows))
    tables.update(rows, options.output)
    print(f"\n{len(rows)} runs written to {options.output}, in place of rows with the same settings")
    if own_reach and options.output == results.FOLDER / damping.FILE:
        print(f"The book reads the study at {REACH:.2f} m from there: `python -m ikcourse results` puts it back.")


def _map(options: argparse.Namespace) -> None:
    study = results.STUDIES["map"]
    assert isinstance(study, results.CollapseMap)
    if options.output.is_file():
        raise ValueError(f"--output names a file, {options.output}; the map needs a folder")
    tables.require_place(options.output / "file")
    options.output.mkdir(parents=True, exist_ok=True)
    for file in study.write(options.output, [], _progress("map"), options.scheduler):
        print(file)
    print("\n".join(study.facts(options.output)[2:]))


def _demo(options: argparse.Namespace) -> None:
    from ikcourse.show import films

    tables.require_place(options.output)
    arm = scenes.panda(options.model)
    path = reach_and_return(arm, options.reach)
    runs = [track(arm, path, DampedLeastSquares(damping)) for damping in options.dampings]
    labels = [
        f"lambda = {damping:g}: {ends.end_state(run).value}"
        for damping, run in zip(options.dampings, runs, strict=True)
    ]
    print("\n".join(map(str, films.write_films(runs, labels, options.output))))


def _viewer(options: argparse.Namespace) -> None:
    from ikcourse.show import viewer

    law = DampedLeastSquares(options.damping, options.nullspace_gain)
    if not options.max_angvel >= 0:
        raise ValueError(f"--max-angvel must not be negative; got {options.max_angvel}")
    viewer.view(scenes.panda(options.model), law, options.integration_dt, options.max_angvel or None)


def _results(options: argparse.Namespace) -> int:
    act = results.check if options.check else results.write
    return act(only=options.only, progress=_progress)


def _bench(options: argparse.Namespace) -> None:
    bench.print_ratio()
    cost.print_costs()


if __name__ == "__main__":
    sys.exit(main())
