"""One figure style for the whole book: the same colour always means the same thing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {
    "target": "#E69F00",
    "healthy": "#0072B2",
    "collapsed": "#D55E00",
    "peer": "#8E4585",
    "exact": "#009E73",
    "neutral": "#5B6770",
    "faint": "#B8C0C6",
}
"""What each colour means. Target, healthy, collapsed and exact are Okabe and Ito's (2008), which colour-blind readers
can tell apart; the rest differ from them in lightness too."""


def use_style() -> None:
    """Set matplotlib's style for the notebook: call it once, after the imports.

    Figures are drawn dark on white; the book's stylesheet turns their lightness around in dark mode and keeps the hues.
    """
    import matplotlib as mpl
    from cycler import cycler

    mpl.rcParams.update(
        {
            "figure.figsize": (6.6, 3.7),
            "figure.dpi": 110,
            "figure.constrained_layout.use": True,
            "savefig.bbox": "tight",
            "font.size": 11,
            "axes.titlesize": 11,
            "axes.titlelocation": "left",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": COLOURS["neutral"],
            "axes.labelcolor": "#222222",
            "axes.grid": True,
            "grid.color": "#E4E8EB",
            "grid.linewidth": 0.8,
            "xtick.color": COLOURS["neutral"],
            "ytick.color": COLOURS["neutral"],
            "xtick.labelcolor": "#222222",
            "ytick.labelcolor": "#222222",
            "lines.linewidth": 1.8,
            "legend.frameon": False,
            "axes.prop_cycle": cycler(
                color=[COLOURS[name] for name in ("healthy", "collapsed", "exact", "peer", "target", "neutral")]
            ),
            "svg.hashsalt": "out-of-rank",
        }
    )
    _draw_in_vectors()


def label_lines(axes: Axes, **kwargs: Any) -> None:
    """Name each labelled line at its right end, in its own colour: quicker to read than a legend."""
    for line in axes.get_lines():
        label = str(line.get_label())
        if label.startswith("_"):
            continue
        x, y = np.asarray(line.get_xdata())[-1], np.asarray(line.get_ydata())[-1]
        axes.annotate(
            label,
            (x, y),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=line.get_color(),
            **kwargs,
        )


def _draw_in_vectors() -> None:
    """SVG figures in a notebook; outside of one there is nothing to set."""
    try:
        from IPython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:
        return
    if get_ipython() is not None:
        set_matplotlib_formats("svg")
