"""Showing: figures, films and MuJoCo's viewer. The only floor that draws; nothing below it imports it.

What draws (matplotlib, OpenGL, the encoder) is imported when it is first used, so that the viewer needs none of it:

    from ikcourse import show

    show.use_style()
    show.film([run], ["lambda = 0.01"], alt="...")
"""

from ikcourse.show.figures import draw_ellipse, draw_planar_arm, velocity_ellipse
from ikcourse.show.films import film, frames_of, pictures, still
from ikcourse.show.style import COLOURS, label_lines, use_style
from ikcourse.show.tables import table

__all__ = [
    "COLOURS",
    "draw_ellipse",
    "draw_planar_arm",
    "film",
    "frames_of",
    "label_lines",
    "pictures",
    "still",
    "table",
    "use_style",
    "velocity_ellipse",
]
