"""What every explorer shares: controls, a picture, words that a screen reader gets, and errors said where one looks."""

from __future__ import annotations

import base64
import html
import io
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ikcourse.show.style import use_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_AN_INCH = 140
"""Sharp at the width of a notebook; a redraw takes a quarter longer at 200."""


class Explorer(ABC):
    """Controls beside a picture and a sentence that answer them; show one by naming it on the last line of a cell.

    A change is answered in the kernel before the next one is taken: the browser keeps only the last of the changes made
    meanwhile, so that a slider that is dragged does not leave a queue of runs behind. What is shown belongs to the
    values of the controls, always: an answer that failed takes the picture away, and says why in its place.

    A subclass makes its controls and its figure, and answers in `_answer`.

    Attributes:
        controls: ipywidgets by the name of what they set.
        figure: what the picture shows. Not one of pyplot's, which would keep it open.
        words: what is seen, in a sentence.
        problem: what went wrong, "" where nothing did.
        view: everything, as one ipywidget.
    """

    figure: Figure

    def __init__(self, controls: Mapping[str, Any], buttons: Sequence[Any] = (), below: Sequence[Any] = ()) -> None:
        import ipywidgets

        self.controls, self.words, self.problem, self._waits = dict(controls), "", "", False
        self._picture, self._said = ipywidgets.HTML(), ipywidgets.HTML()
        for control in self.controls.values():
            self._dress(control)
            control.observe(lambda _change: self._refresh(), "value")
        row = ipywidgets.HBox(list(buttons), layout={"flex_flow": "row wrap"})
        left = ipywidgets.VBox([*self.controls.values(), row, self._said], layout=_column("19em"))
        right = ipywidgets.VBox([self._picture, *below], layout=_column("24em"))
        self.view = ipywidgets.Box([left, right], layout={"flex_flow": "row wrap", "width": "100%"})

    def set(self, **values: Any) -> None:
        """Set several controls at once, and answer once.

        Raises:
            ValueError: there is no control of that name.
        """
        for name in values:
            if name not in self.controls:
                raise ValueError(f"there is no control {name!r}; there are {list(self.controls)}")
        self._waits = True
        try:
            for name, value in values.items():
                self.controls[name].value = value
        finally:  # a value that its control refuses leaves those before it set
            self._waits = False
            self._refresh()

    def value(self, name: str) -> Any:
        """What a control is set to."""
        return self.controls[name].value

    @abstractmethod
    def _answer(self) -> tuple[str, str]:
        """Draw `figure` for the controls' values; returns what the picture shows (its alt text) and the words."""

    def _refresh(self) -> None:
        if self._waits:
            return
        try:
            alt, self.words = self._answer()
            picture, self.problem = _as_image(self.figure, alt), ""
            said = f'<div role="status" aria-live="polite">{html.escape(self.words)}</div>'
        except Exception as error:  # Jupyter writes what a control's callback raises into a log that nobody reads
            self.words, self.problem = "", str(error) or type(error).__name__
            picture = ""
            said = f'<div role="alert"><strong>No answer:</strong> {html.escape(self.problem)}</div>'
        self._picture.value = picture
        self._said.value = f'<div style="line-height: 1.45; padding: 0.5em 0">{said}</div>'

    @staticmethod
    def _dress(control: Any) -> None:
        """As wide as its column, its name and unit in full, its range in the tooltip."""
        control.layout.width, control.layout.min_width, control.style.description_width = "100%", "21em", "11.5em"
        if hasattr(control, "min"):
            log = hasattr(control, "base")
            low, high = (control.base**end if log else end for end in (control.min, control.max))
            control.tooltip = f"{control.description}, from {low:g} to {high:g}"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.view._repr_mimebundle_(**kwargs)


def new_figure(width: float, height: float) -> Figure:
    """A figure in the book's style that belongs to nobody but its owner [inch]."""
    from matplotlib.figure import Figure

    use_style()
    return Figure(figsize=(width, height), dpi=DOTS_AN_INCH)


def _as_image(figure: Figure, alt: str) -> str:
    """The figure as an HTML image. Its layout is found once: the axes' labels do not change."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    png = io.BytesIO()  # not `savefig`, which would draw twice: the style crops figures to what is on them
    FigureCanvasAgg(figure).print_png(png, pil_kwargs={"compress_level": 1})
    if figure.get_layout_engine() is not None:
        figure.set_layout_engine("none")
    data = base64.b64encode(png.getvalue()).decode()
    width = round(100 * figure.get_figwidth())
    return (
        f'<img alt="{html.escape(alt)}" style="width: 100%; max-width: {width}px; height: auto" '
        f'src="data:image/png;base64,{data}">'
    )


def _column(width: str) -> dict[str, str]:
    """A column that shares a row where there is room, and takes the whole of it where there is not."""
    return {"flex": f"1 1 {width}", "min_width": "0", "padding": "0 0.6em 0 0"}
