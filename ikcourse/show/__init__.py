"""Showing: figures, films, explorers and MuJoCo's viewer. The only floor that draws; nothing below it imports it.

What draws (matplotlib, OpenGL, the encoder, widgets) is imported when it is first used, so that the viewer needs none:

    from ikcourse import show

    show.use_style()
    show.film([run], ["lambda = 0.01"], alt="...")
"""

from ikcourse.show.explorer_plots import compare_postures, compare_runs
from ikcourse.show.figures import draw_ellipse, draw_planar_arm, velocity_ellipse
from ikcourse.show.films import film, frames_of, pictures, still
from ikcourse.show.style import COLOURS, label_lines, use_style
from ikcourse.show.tables import table
from ikcourse.show.widgets import damping_explorer, ellipse_explorer

__all__ = [
    "COLOURS",
    "compare_postures",
    "compare_runs",
    "damping_explorer",
    "draw_ellipse",
    "draw_planar_arm",
    "ellipse_explorer",
    "film",
    "frames_of",
    "label_lines",
    "pictures",
    "still",
    "table",
    "use_style",
    "velocity_ellipse",
]
