"""Links between the chapters and the reference, set in each page when Sphinx has read it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from book_uses import documented_name, spelled, used_in_notebook
from docutils import nodes  # type: ignore[import-untyped]
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

REFERENCE = "book/reference/"
PHONE = 46
"""So many characters of code stand in one line on a phone."""

MENTION = re.compile(r"(?:ik|ikcourse|show|check)\.\w[\w.]*(?=\(.*\)$|$)")


def mentioned(code: str) -> str | None:
    """The full name of the entry that a piece of code in a text speaks of: `ik.leak`, `show.table(...)`."""
    match = MENTION.match(code)
    if match is None:
        return None
    dotted = re.sub(r"^(show|check)\.", r"ikcourse.\1.", match[0])
    return documented_name(re.sub(r"^ik\.", "ikcourse.", dotted))


def link_to(name: str, shown: nodes.Node, page: str) -> addnodes.pending_xref:
    return addnodes.pending_xref(
        "", shown, refdomain="py", reftype="obj", reftarget=name, refexplicit=True, refwarn=True, refdoc=page
    )


def join_chapter(app: Sphinx, document: nodes.document) -> None:
    """Link the first mention of each name in a page's text, and end a chapter with all that its code uses."""
    page = app.env.docname
    if page.startswith(REFERENCE):
        set_signatures(document)
        return
    linked = set()
    for code in list(document.findall(nodes.literal)):
        inside = code.parent
        while inside is not None and not isinstance(inside, nodes.reference | nodes.title | addnodes.pending_xref):
            inside = inside.parent
        if inside is not None:
            continue
        name = mentioned(code.astext())
        if name and name not in linked:
            linked.add(name)
            code.replace_self(link_to(name, code.deepcopy(), page))
    file = Path(app.env.doc2path(page))
    used = used_in_notebook(file) if file.suffix == ".ipynb" else []
    if used and document.children:
        line = nodes.paragraph("", "", nodes.strong("", "In this chapter's code: "), classes=["used-here"])
        for k, name in enumerate(sorted(used, key=lambda name: spelled(name).casefold())):
            line += [nodes.Text(", ")] * bool(k) + [link_to(name, nodes.literal("", spelled(name)), page)]
        document.children[0].append(line)


def set_signatures(document: nodes.document) -> None:
    """Head the entries as the chapters write the names, and give what is too long for a phone a parameter a line."""
    for prefix in document.findall(addnodes.desc_addname):
        prefix.children = [nodes.Text(spelled(prefix.astext()))]
    for signature in document.findall(addnodes.desc_signature):
        for parameters in signature.findall(addnodes.desc_parameterlist):
            parameters["multi_line_parameter_list"] = len(parameters) > 1 and len(signature.astext()) > PHONE


def find_alias(app: Sphinx, env: BuildEnvironment, link: addnodes.pending_xref, shown: nodes.Node) -> Any:
    """A type in a signature may be an alias, where Sphinx looks for a class alone."""
    if (link.get("refdomain"), link.get("reftype")) != ("py", "class"):
        return None
    domain = env.get_domain("py")
    return domain.resolve_xref(env, link["refdoc"], app.builder, "type", link["reftarget"], link, shown)
