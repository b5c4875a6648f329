"""The command line: `python -m ikcourse --help`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from ikcourse import scenes
from ikcourse.laws import DampedLeastSquares
from ikcourse.paths import REACH
from ikcourse.studies import bench, damping, results


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

    study = commands.add_parser("damping", help="reach and return at eleven dampings: who comes home, and who folds")
    _add_model(study)
    study.add_argument(
        "--reach",
        type=float,
        default=REACH,
        metavar="M",
        help="farthest distance from the shoulder [m] (default %(default)s)",
    )
    study.add_argument(
        "--output",
        type=Path,
        default=results.FOLDER / damping.FILE,
        metavar="CSV",
        help="where to write the table (default %(default)s)",
    )
    study.set_defaults(run=_damping)

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

    everything = commands.add_parser("results", help="recompute every file in results/")
    everything.add_argument("--check", action="store_true", help="write nothing; fail where a file would change")
    everything.set_defaults(run=_results)

    timing = commands.add_parser("bench", help="time one control step against a bare rollout of the same controls")
    timing.set_defaults(run=_bench)
    return parser


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", choices=scenes.SOURCES, default="builtin", help="which Panda (default builtin)")


def _damping(options: argparse.Namespace) -> None:
    if options.output.is_dir():
        raise ValueError(f"--output names a folder, {options.output}; it needs a file, such as {damping.FILE}")
    arm = scenes.panda(options.model)
    rows = damping.study(
        arm, options.reach, progress=lambda dampings: tqdm(dampings, unit="run", delay=1, leave=False, disable=None)
    )
    print(damping.table(rows))
    damping.write(rows, options.output)
    print(f"\n{len(rows)} runs, one for each damping, written to {options.output}")
    if options.output == results.FOLDER / damping.FILE and (options.model, options.reach) != ("builtin", REACH):
        print("The book reads the built-in model's study from there: `python -m ikcourse results` puts it back.")


def _viewer(options: argparse.Namespace) -> None:
    from ikcourse.show import viewer

    law = DampedLeastSquares(options.damping, options.nullspace_gain)
    if not options.max_angvel >= 0:
        raise ValueError(f"--max-angvel must not be negative; got {options.max_angvel}")
    viewer.view(scenes.panda(options.model), law, options.integration_dt, options.max_angvel or None)


def _results(options: argparse.Namespace) -> int:
    return results.check() if options.check else results.write()


def _bench(options: argparse.Namespace) -> None:
    bench.print_ratio()


if __name__ == "__main__":
    sys.exit(main())
