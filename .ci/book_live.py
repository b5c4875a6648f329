"""Sphinx extension: a live page as a figure.

    :::{live} panda.html#map
    ![What one sees.](assets/live/panda.png)

    What to do, and what happens.
    :::

The page lies in book/live and is built beside the book (live_pages.py); the still is what a reader sees in Jupyter, on
paper, without scripts, and until the page has loaded. Where the page was not built a sentence says so below the still.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import live_pages
from docutils import nodes  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.images import get_image_size

NOT_BUILT = "This is a still picture: the page that moves is built by npm, which could not be reached."
UNTIL_IT_MOVES = "A still picture, until the page that moves has loaded; it needs scripts."


class live(nodes.figure):  # docutils names its nodes in small letters
    """A figure that an HTML page brings to life; elsewhere a figure like any other."""


class Live(SphinxDirective):
    """One argument, a page with what it opens with; its content a still, a paragraph of its own, and a caption."""

    required_arguments, has_content = 1, True

    def run(self) -> list[nodes.Node]:
        page = self.arguments[0].partition("#")[0]
        pages = sorted(file.name for file in Path(self.env.srcdir, "book", "live").glob("*.html"))
        if page not in pages:
            raise self.error(f"{page} is no live page; there are: {', '.join(pages)}")
        holder = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, holder)
        paragraphs = list(holder.children)
        if len(paragraphs) != 2 or not all(isinstance(part, nodes.paragraph) for part in paragraphs):
            raise self.error("a live page takes a still picture in one paragraph and a caption in the next")
        still, words = paragraphs
        if len(still) != 1 or not isinstance(still[0], nodes.image):
            raise self.error("a live page begins with its still picture, alone in its paragraph")
        if len(still[0].get("alt", "")) < 15:
            raise self.error("the still of a live page says in its alt text what one sees")
        self.env.note_dependency(str(live_pages.state(Path(self.env.srcdir))))
        still[0]["classes"].append("render")
        size = get_image_size(Path(self.env.doc2path(self.env.docname)).parent / still[0]["uri"])
        caption = nodes.caption("", "", *words.children)
        return [live("", still[0], caption, page=self.arguments[0], size=size)]


def is_built(page: str, translator: Any) -> bool:
    """Only in a folder of HTML pages is there a place for the live ones."""
    made = Path(translator.builder.srcdir) / "_build" / "live" / page.partition("#")[0]
    return translator.builder.name == "html" and made.is_file()


def address(name: str, translator: Any) -> str:
    """Of a file in the built book's folder `live`, from the page that is being written."""
    return "../" * translator.docnames[0].count("/") + f"live/{name}"


def open_figure(translator: Any, node: live) -> None:
    given = {"class": "live"}
    if node["size"]:
        given["style"] = "--still: {} / {}".format(*node["size"])
    if is_built(node["page"], translator):
        given["data-page"] = address(node["page"], translator)
        given["data-title"] = "Live: " + re.split(r"(?<=[.:;])\s", node[-1].astext())[0].rstrip(".:;")
    translator.body.append(translator.starttag(node, "figure", "\n", **given))


def close_figure(translator: Any, node: live) -> None:
    built = is_built(node["page"], translator)
    link = f'<a href="{address(node["page"], translator)}">Open it on a page of its own</a>'
    link += f' <span class="live-still">{UNTIL_IT_MOVES}</span>'
    translator.body.append(f'<p class="live-note">{link if built else NOT_BUILT}</p>\n</figcaption>\n</figure>\n')
    if built and node is next(iter(translator.document.findall(live))):
        translator.body.append(f'<script defer src="{address("embed.js", translator)}"></script>\n')


def place_pages(app: Sphinx, failed: Exception | None) -> None:
    if failed is None and app.builder.name == "html":
        live_pages.place(Path(app.srcdir))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_node(live, html=(open_figure, close_figure))
    app.add_directive("live", Live)
    app.connect("build-finished", place_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
