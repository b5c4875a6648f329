"""The package on its own: a wheel, installed away from the checkout, with what its metadata asks for and no more."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Everything that only the book, the tests or the fleet bring, and OpenGL, made impossible to import.
ALONE = """
import sys
for name in "matplotlib mediapy ipywidgets IPython PIL imageio_ffmpeg mink jax dask pytest OpenGL".split():
    sys.modules[name] = None
import ikcourse as ik
print(ik.__file__)
arm = ik.panda()
run = ik.track(arm, ik.hold(arm, duration=0.02), ik.DampedLeastSquares(damping=1e-2))
print(run.q.shape[1])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*command, str(ROOT)], check=True, timeout=120)
    return next(folder.glob("ikcourse-*.whl"))


def test_the_wheel_holds_the_package_and_every_scene_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    scenes = {f"ikcourse/scene/{file.name}" for file in (ROOT / "scene").glob("*.xml")}
    assert scenes
    assert scenes <= names
    assert "ikcourse/py.typed" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"ikcourse"}


def test_the_wheel_works_from_any_folder_without_opengl_or_the_books_packages(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    settings = {key: value for key, value in os.environ.items() if key not in ("MUJOCO_GL", "DISPLAY")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", ALONE],
        cwd=tmp_path,
        env=settings | {"PYTHONPATH": str(site), "MUJOCO_GL": "disable"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    where, joints = done.stdout.split()
    assert Path(where).is_relative_to(site)
    assert joints == "7"
