"""The package's docstrings as reStructuredText: they are written to be read in an editor, and are set for a page here.

Napoleon knows Args, Returns, Raises and Attributes. What this adds, before and after it:

- `name` in backticks becomes a link to its entry, or code where it has none;
- lambda, sigma^2, J^T, ||e||, <= are typeset outside code, and nothing of a formula is taken for markup;
- "Source: Wampler 1986." becomes a field beside Returns and Raises, and a work of the bibliography a link to it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import re
import textwrap
from typing import Any

from book_uses import documented_name, value_of

# Characters of the private use area stand for markup that napoleon must not see.
RAISE, LOWER, RAISED, COLON = "\ue000", "\ue001", "\ue002", "\ue003"
JOINED = "\u2060"
"""No line breaks between a symbol and its exponent."""

SYMBOLS: list[tuple[str, Any]] = [
    (r"\|\|", "‖"),
    (r"\|", r"\\|"),
    (r" \* ", " · "),
    (r" - |(?<=[\s(])-(?=[\dA-Z])", lambda match: match[0].replace("-", "−")),
    (r"\*", r"\\*"),
    (r"(?<![\w])lambda(?![a-z])", "λ"),
    (r"(?<![\w])sigma(?![a-z])", "σ"),
    (r"(?<![\w])pi(?![\w])", "π"),
    (r"(?<![\w])tau(?![a-z])", "τ"),
    (r"(?<![\w])Lambda(?![a-z])", "Λ"),
    (r"->", "→"),
    (r"<=", "≤"),
    (r">=", "≥"),
    (r"\^#", f"{RAISE}#{RAISED}"),
    (r"\^\(([-−]?\d+/\d+)\)", f"{RAISE}\\1{RAISED}"),
    (r"\^([-−+]?\d+|[T+])", lambda match: RAISE + match[1].replace("-", "−") + RAISED),
    (r"(?<![\w.])([JRVqpdσλτ])_([a-z]+|\d)(?![\w(])", f"\\1{LOWER}\\2{RAISED}"),
    (r"_(?=\W|$)", r"\\_"),
    (r'"[a-z_]+"', r"``\g<0>``"),  # a string that an argument may be
]
FIELD = re.compile(r"^(\s+[a-z_]\w*(?:, [a-z_]\w*)*: )(.*)$")
"""A line of Args or Attributes: the names before the colon are the code's own."""

WORK = re.compile(r"([A-Z][\w-]+)(?:(?:, [A-Z][\w-]+)* and [A-Z][\w-]+| et al\.)? (\d{4})")


def typeset(line: str, resolve: Any) -> str:
    """One line of prose; what stands in backticks is code."""
    field = FIELD.match(line)
    head, body = (field[1], field[2]) if field else ("", line)
    parts = re.split(r"(`+)(.+?)\1", body)
    for at in range(0, len(parts), 3):
        for pattern, symbol in SYMBOLS:
            parts[at] = re.sub(pattern, symbol, parts[at])
    for at in range(2, len(parts), 3):
        parts[at - 1], code = "", parts[at]
        target = resolve(code)
        parts[at] = f":py:obj:`{code} <{target}>`" if target else f"``{code}``"
    return head + "".join(parts)


def resolver(name: str, thing: Any) -> Any:
    """What a name in backticks means in the docstring of a thing: the full name of its entry, or None."""
    thing = thing.fget if isinstance(thing, property) else thing
    home = thing.__name__ if inspect.ismodule(thing) else getattr(thing, "__module__", "ikcourse")
    module = importlib.import_module(home)

    def resolve(code: str) -> str | None:
        written = re.sub(r"\(.*\)$", "", code)
        if not re.fullmatch(r"[A-Za-z_][\w.]*", written):
            return None
        owner = name.rpartition(".")[0]
        for dotted in (written, f"{module.__name__}.{written}", f"ikcourse.{written}", f"{owner}.{written}"):
            if not dotted.startswith("ikcourse."):
                continue
            found = documented_name(dotted)
            if found is None:
                continue
            try:
                value = value_of(dotted)
            except AttributeError:
                continue
            if value is value_of(found):
                return found if found != name else None
            member = dotted.rpartition(".")[2]
            return f"{found}.{member}" if inspect.isclass(value_of(found)) and value.__doc__ else None
        return None

    return resolve


def before_napoleon(name: str, thing: Any, lines: list[str]) -> None:
    """Change a docstring's lines in place."""
    resolve, section, k = resolver(name, thing), "", 0
    while k < len(lines):
        line = lines[k]
        if heading := re.fullmatch(r"(Args|Attributes|Returns|Raises):", line):
            section = heading[1]
        elif not section and k and not lines[k - 1] and line.startswith("    "):  # an example, set in
            block = list(itertools.takewhile(lambda line: not line or line.startswith("    "), lines[k:]))
            lines[k:k] = [f".. code-block:: {language_of(block)}", ""]
            k += 1 + len(block)
        elif line.strip():
            if section == "Returns" or isinstance(
                thing, property
            ):  # a colon there is a sentence's, and follows no type
                line = re.sub(r":(?=\s|$)", COLON, line)
            lines[k] = typeset(re.sub(r"^Source: ", ":Source: ", line), resolve)
        k += 1


def language_of(block: list[str]) -> str:
    """Python where it can be read as Python; a table of formulas is text."""
    try:
        ast.parse(textwrap.dedent("\n".join(block)))
    except SyntaxError:
        return "text"
    return "python"


def after_napoleon(lines: list[str], works: frozenset[str]) -> None:
    """Put the markup in that napoleon was not to see, and cite what the bibliography holds."""
    source = False
    for k, line in enumerate(lines):
        source = line.startswith(":Source:") or (source and line.startswith("    "))
        if source:
            lines[k] = line = WORK.sub(lambda match: _cited(match, works), line)
        for mark, role in ((RAISE, "sup"), (LOWER, "sub")):
            line = re.sub(f"{mark}([^{RAISED}]*){RAISED}", rf"{JOINED}\\ :{role}:`\1`\\ ", line)
        lines[k] = line.replace(COLON, ":")


def _cited(match: re.Match[str], works: frozenset[str]) -> str:
    key = f"{match[1].lower()}{match[2]}"
    return f":cite:t:`{key}`" if key in works else match[0]


def tidy_signature(arguments: str | None, answer: str | None) -> tuple[str | None, str | None]:
    """A signature without what tells nothing: an answer of any type or none, seventeen digits, a factory."""
    if arguments:
        arguments = re.sub(r"\d+\.\d{8,}", lambda match: f"{float(match[0]):.6g}", arguments)
        arguments = arguments.replace("<factory>", "...").replace("np.ndarray", "ndarray")
        arguments = re.sub(r"<built-in function (\w+)>|PosixPath\((.*?)\)", r"\1\2", arguments)
        if arguments.startswith(("(*args, **kwargs)", "(value, names=None,")):  # a protocol or an enumeration's own
            arguments = None
    return arguments, None if answer in ("Any", "~typing.Any", "None") else answer
