"""Films and stills of runs, drawn off screen: they need OpenGL, and say so in the page where there is none."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from ikcourse.arm import Arm
from ikcourse.loop import Run

if TYPE_CHECKING:
    from IPython.display import HTML

NO_OPENGL = (
    "No picture here: MuJoCo found no OpenGL on the machine that ran this page. The numbers do not need it. "
    "On Debian and Ubuntu, install libegl1 libgl1-mesa-dri libopengl0 and run the page again."
)
LABEL_HEIGHT = 36
FILM_QUALITY = {"numslices": 20, "numstacks": 12, "shadowsize": 512}
"""A film has hundreds of frames, most of them drawn in software: coarser shapes and shadows, four times as fast."""


class NoOpenGL(RuntimeError):
    """This machine cannot draw: MuJoCo found no OpenGL context."""


def frames_of(run: Run, fps: float = 20, width: int = 480, height: int = 360, camera: str = "side") -> np.ndarray:
    """The run as pictures, (frames, height, width, 3) uint8, the mocap target where the path has it.

    Raises:
        NoOpenGL: this machine cannot draw.
        ValueError: the model has no camera of that name.
    """
    arm = run.arm
    _require_camera(arm, camera)
    times = run.times
    steps = np.unique(np.searchsorted(times, np.arange(0, times[-1] + 1e-9, 1 / fps)).clip(max=len(times) - 1))
    data = arm.data()
    frames = np.empty((len(steps), height, width, 3), np.uint8)
    with _renderer(arm, height, width, FILM_QUALITY) as renderer:
        for picture, k in zip(frames, steps, strict=True):
            _show_at(arm, data, run.q[k], run.path.positions[k], run.path.quaternions[k])
            renderer.update_scene(data, camera)
            picture[:] = renderer.render()
    return frames


def still(
    arm: Arm, q: np.ndarray | None = None, width: int = 480, height: int = 360, camera: str = "side"
) -> np.ndarray:
    """One picture of the arm at q (n,), by default home, (height, width, 3) uint8; raises as `frames_of`."""
    _require_camera(arm, camera)
    data = arm.data(q)
    with _renderer(arm, height, width, {}) as renderer:
        renderer.update_scene(data, camera)
        return renderer.render().copy()


def film(
    runs: Sequence[Run],
    labels: Sequence[str],
    alt: str,
    caption: str = "",
    fps: float = 20,
    width: int = 400,
    height: int = 400,
    camera: str = "side",
    poster: float = 1.0,
) -> HTML:
    """Runs side by side in one film, so that they cannot lose step, with a still that shows before it plays.

    Args:
        runs: the runs, one panel each, of the same length.
        labels: a name for each, written above its panel.
        alt: what is seen, for who does not see it.
        caption: the finding, below the film.
        fps, width, height, camera: of each panel.
        poster: which moment the still shows, from 0 (start) to 1 (end).

    Returns:
        The film for a notebook or page; where there is no OpenGL, a sentence that says so.

    Raises:
        ValueError: there is no run, or not one label for each.
    """
    import mediapy
    from IPython.display import HTML

    try:
        frames = _side_by_side(runs, labels, fps, width, height, camera)
    except NoOpenGL:
        return HTML(f'<p class="no-opengl">{NO_OPENGL}</p>')
    _use_packaged_ffmpeg()
    movie = mediapy.compress_video(frames, fps=fps, qp=28)
    cover = mediapy.compress_image(frames[round(poster * (len(frames) - 1))], fmt="jpeg")
    return HTML(
        '<figure class="film">'
        f'<video controls muted loop playsinline preload="metadata" width="{frames.shape[2]}" '
        f'aria-label="{html.escape(alt)}" '
        f'poster="data:image/jpeg;base64,{_text(cover)}">'
        f'<source type="video/mp4" src="data:video/mp4;base64,{_text(movie)}">{html.escape(alt)}</video>'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def write_films(
    runs: Sequence[Run],
    labels: Sequence[str],
    file: Path,
    fps: float = 20,
    width: int = 400,
    height: int = 400,
    camera: str = "side",
) -> list[Path]:
    """The same film as two files beside each other, an MP4 and a GIF of half the frames; returns their paths.

    Args:
        runs, labels, fps, width, height, camera: as `film`.
        file: where to; its suffix is replaced by .mp4 and .gif.

    Raises:
        NoOpenGL: this machine cannot draw.
        ValueError: as `film`.
    """
    import mediapy

    frames = _side_by_side(runs, labels, fps, width, height, camera)
    _use_packaged_ffmpeg()
    file.parent.mkdir(parents=True, exist_ok=True)
    film_file, picture_file = file.with_suffix(".mp4"), file.with_suffix(".gif")
    mediapy.write_video(film_file, frames, fps=fps, qp=28)
    mediapy.write_video(picture_file, frames[::2], fps=fps / 2, codec="gif")
    return [film_file, picture_file]


def pictures(images: Sequence[np.ndarray], labels: Sequence[str], alt: str, caption: str = "") -> HTML:
    """Stills side by side, as `film` shows runs; raises ValueError as it does."""
    import mediapy
    from IPython.display import HTML

    if not images or len(labels) != len(images):
        raise ValueError(
            f"need at least one image and a label for each; got {len(images)} images, {len(labels)} labels"
        )

    row = np.concatenate(
        [_labelled(image[None], label)[0] for image, label in zip(images, labels, strict=True)], axis=1
    )
    data = _text(mediapy.compress_image(row, fmt="png"))
    return HTML(
        f'<figure class="film"><img width="{row.shape[1]}" alt="{html.escape(alt)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def _side_by_side(
    runs: Sequence[Run], labels: Sequence[str], fps: float, width: int, height: int, camera: str
) -> np.ndarray:
    """The runs' labelled panels in one row, (frames, height, width, 3), as long as the shortest; raises as `film`."""
    if not runs or len(labels) != len(runs):
        raise ValueError(f"need at least one run and a label for each; got {len(runs)} runs, {len(labels)} labels")
    panels = [
        _labelled(frames_of(run, fps, width, height, camera), label) for run, label in zip(runs, labels, strict=True)
    ]
    length = min(map(len, panels))
    return np.concatenate([panel[:length] for panel in panels], axis=2)


def _show_at(arm: Arm, data: mujoco.MjData, q: np.ndarray, position: np.ndarray, quaternion: np.ndarray) -> None:
    data.qpos[arm.qpos_addresses] = q
    if arm.model.nmocap:
        data.mocap_pos[0], data.mocap_quat[0] = position, quaternion
    mujoco.mj_forward(arm.model, data)


@contextmanager
def _renderer(arm: Arm, height: int, width: int, quality: dict[str, int]) -> Iterator[mujoco.Renderer]:
    """A renderer of this quality. What OpenGL raises where it is missing depends on the platform, so all count."""
    settings = arm.model.vis.quality
    before = {name: getattr(settings, name) for name in quality}
    try:
        for name, value in quality.items():
            setattr(settings, name, value)
        renderer = mujoco.Renderer(arm.model, height, width)
    except ValueError:  # the picture is larger than the model's offscreen buffer
        raise
    except Exception as error:
        raise NoOpenGL(f"{NO_OPENGL} ({error})") from error
    finally:
        for name, value in before.items():
            setattr(settings, name, value)
    with renderer:
        yield renderer


def _require_camera(arm: Arm, camera: str) -> None:
    names = [arm.model.camera(i).name for i in range(arm.model.ncam)]
    if camera not in names:
        raise ValueError(f"the model has no camera {camera!r}; it has {names}")


def _labelled(frames: np.ndarray, label: str) -> np.ndarray:
    """The frames below a strip that carries their label."""
    from PIL import Image, ImageDraw, ImageFont

    strip = Image.new("RGB", (frames.shape[2], LABEL_HEIGHT), "white")
    ImageDraw.Draw(strip).text((10, LABEL_HEIGHT // 2), label, "#222222", ImageFont.load_default(22), anchor="lm")
    above = np.broadcast_to(np.asarray(strip), (len(frames), *np.asarray(strip).shape))
    return np.concatenate([above, frames], axis=1)


def _use_packaged_ffmpeg() -> None:
    import imageio_ffmpeg
    import mediapy

    mediapy.set_ffmpeg(imageio_ffmpeg.get_ffmpeg_exe())


def _text(data: Any) -> str:
    return base64.b64encode(data).decode()
