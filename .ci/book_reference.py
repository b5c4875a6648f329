"""Sphinx extension of the reference pages: the package's docstrings as entries, joined with the chapters both ways.

On a reference page, in `{eval-rst}`:

    .. floor:: ikcourse.inverse ikcourse.selective      a table of every name in these modules
    .. room:: ikcourse.inverse                          the module's words, then an entry for each of its names
    .. command-line::                                   what `python -m ikcourse --help` tells

Each entry ends with the chapters whose code uses it. Each chapter links the names in its text to their entries, at the
first mention, and ends with a line of all that its code uses. Both are read from the notebooks at every build.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import itertools
import pkgutil
import re
from pathlib import Path
from typing import Any

from book_docstrings import after_napoleon, before_napoleon, tidy_signature, typeset
from book_links import find_alias, join_chapter
from book_uses import names_of, short_title, spelled, used_in_notebook, value_of
from build_book import chapters
from docutils import nodes  # type: ignore[import-untyped]
from docutils.statemachine import StringList  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

import ikcourse


class Generated(SphinxDirective):
    """A directive that writes reStructuredText."""

    def parsed(self, lines: list[str]) -> list[nodes.Node]:
        holder = nodes.Element()
        self.state.nested_parse(StringList(lines, self.name), 0, holder)
        return list(holder.children)


class Floor(Generated):
    """The names of some modules in a table, each with the first sentence of its docstring."""

    required_arguments, final_argument_whitespace = 1, True

    def run(self) -> list[nodes.Node]:
        lines = [".. list-table::", "   :class: floor", "   :widths: auto", ""]
        for name in (name for module in self.arguments[0].split() for name in names_of(module)):
            lines += [f"   * - :py:obj:`{spelled(name)} <{name}>`", f"     - {first_sentence(name, self.env.app)}"]
        return self.parsed(lines)


class Room(Generated):
    """A module's own words, and an entry for each of its names."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module = self.arguments[0]
        for file in chapters(Path(self.env.srcdir)):  # the page is read again when a chapter changes
            self.env.note_dependency(str(file))
        app, room = self.env.app, importlib.import_module(module)
        words = as_rst(module, room, (room.__doc__ or "").splitlines(), app)
        # The module ikcourse.track is hidden behind the function of that name, which has the entry.
        lines = [f".. py:module:: {module}", ""] * (value_of(module) is room) + [*words, ""]
        uses = self.uses()
        for name in names_of(module):
            value = value_of(name)
            if inspect.isclass(value):
                kind = "exception" if issubclass(value, BaseException) else "class"
                lines += [f".. auto{kind}:: {name}", *["   :members:"] * (kind == "class"), ""]
            elif callable(value):
                lines += [f".. autofunction:: {name}", ""]
            else:
                words = as_rst(name, room, docstring(name), app)
                lines += [f".. py:data:: {name.rpartition('.')[2]}", f"   :module: {name.rpartition('.')[0]}", ""]
                lines += [*(f"   {line}" for line in words), ""]
            if name in uses:
                lines += ["   :Used in: " + " · ".join(uses[name]), ""]
        return self.parsed(lines)

    def uses(self) -> dict[str, list[str]]:
        """Links to the chapters, in the book's order, that use each name."""
        found: dict[str, list[str]] = {}
        for file in chapters(Path(self.env.srcdir)):
            for name in used_in_notebook(file):
                found.setdefault(name, []).append(f":doc:`{short_title(file)} </{self.env.path2doc(str(file))}>`")
        return found


class CommandLine(Generated):
    """Every command with its options."""

    def run(self) -> list[nodes.Node]:
        from ikcourse.__main__ import _parser

        commands = next(action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
        summaries = {action.dest: action.help for action in commands._choices_actions}
        lines = []
        for name, parser in commands.choices.items():
            lines += [f".. describe:: python -m ikcourse {name}", ""]
            lines += [f"   {sentence(summaries[name] or '')}", "", f"   .. program:: ikcourse {name}", ""]
            for option in parser._actions:
                if "--help" in option.option_strings:
                    continue
                values = option.metavar or ("|".join(option.choices) if option.choices else "")
                told = (option.help or "") % {**vars(option), "prog": parser.prog}
                lines += [f"   .. option:: {' '.join(filter(None, (option.option_strings[0], str(values))))}", ""]
                lines += [f"      {typeset(told, lambda code: None)}", ""]
        return self.parsed(lines)


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "." * (not text.endswith("."))


def docstring(name: str) -> list[str]:
    """The lines of a docstring; a constant's, of which Python keeps none, stands below its assignment."""
    if callable(value := value_of(name)):
        return (inspect.getdoc(value) or "").splitlines()
    room, _, constant = name.rpartition(".")
    for module in pkgutil.iter_modules(value_of(room).__path__, f"{room}."):
        found = ModuleAnalyzer.for_module(module.name).find_attr_docs().get(("", constant))
        if found:
            return list(found)
    return []


def as_rst(name: str, thing: Any, lines: list[str], app: Sphinx) -> list[str]:
    """Prose of a docstring that has no sections."""
    before_napoleon(name, thing, lines)
    after_napoleon(lines, works(app))
    return lines


def first_sentence(name: str, app: Sphinx) -> str:
    paragraph = " ".join(itertools.takewhile(bool, docstring(name)))
    thing = value_of(name) if callable(value_of(name)) else ikcourse
    return as_rst(name, thing, [re.split(r"(?<=\.)\s+(?=[A-Z])", paragraph)[0]], app)[0]


def works(app: Sphinx) -> frozenset[str]:
    """The keys of the bibliography."""
    files = [Path(app.srcdir) / file for file in app.config.bibtex_bibfiles]
    return frozenset(
        re.findall(r"^@\w+\{([^,\s]+),", "\n".join(file.read_text(encoding="utf-8") for file in files), re.M)
    )


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.napoleon")
    app.add_directive("floor", Floor)
    app.add_directive("room", Room)
    app.add_directive("command-line", CommandLine)
    # Napoleon's own turn is 500.
    app.connect(
        "autodoc-process-docstring", lambda app, what, name, it, _, lines: before_napoleon(name, it, lines), 400
    )
    app.connect(
        "autodoc-process-docstring", lambda app, what, name, it, _, lines: after_napoleon(lines, works(app)), 600
    )
    app.connect("autodoc-process-signature", lambda app, what, name, it, _, *given: tidy_signature(*given))
    app.connect("doctree-read", join_chapter)
    app.connect("missing-reference", find_alias)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
