"""Every way to write alignments: one table, used by each command that shows attention.

Some formats are lines, written as they come; others are one document of all pairs. A file's name
says which it is to be, where nobody else does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from attncli.data.panels import AlignedPair
from attncli.render.alignment import arrays, html, lines, svg
from attncli.render.alignment.terminal import SCREEN, heat_maps
from attncli.render.screen import Screen
from models.errors import ModelError, unknown_name


class Style(NamedTuple):
    """What a format may ask for."""

    probabilities: bool = False  # beside each link, where the format has room for them
    screen: Screen = SCREEN


class Format(NamedTuple):
    """A way to write alignments: by line or as a document, one of the two."""

    about: str
    suffixes: tuple[str, ...] = ()
    line: Callable[[AlignedPair, Style], str] | None = None
    document: Callable[[Sequence[AlignedPair]], bytes] | None = None
    picture: bool = False
    most: int | None = None  # pairs in a document, unless more are asked for
    heads: bool = False  # whether the weights of every head are written


def _png(pairs: Sequence[AlignedPair], kind: str) -> bytes:
    from attncli.render.alignment.png import png

    return png(pairs, kind=kind)


def _line(write: Callable[[AlignedPair, bool], str]) -> Callable[[AlignedPair, Style], str]:
    return lambda pair, style: write(pair, style.probabilities)


FORMATS: dict[str, Format] = {
    "pharaoh": Format("0-0 1-2", (".pharaoh", ".align", ".txt"), _line(lines.pharaoh)),
    "talp": Format("the same, counted from 1", (".talp",), _line(lines.talp)),
    "naacl": Format("sentence source target S, from 1", (".naacl", ".wa"), _line(lines.naacl)),
    "jsonl": Format(
        "units, weights, links, score", (".jsonl", ".json"), lambda pair, style: lines.jsonl(pair)
    ),
    "npz": Format("NumPy arrays", (".npz",), document=arrays.npz, heads=True),
    "terminal": Format("heat maps", line=lambda pair, style: heat_maps(pair, style.screen)),
    "svg": Format("a picture", (".svg",), document=svg.svg, picture=True, most=20),
    "png": Format("a picture", (".png",), None, partial(_png, kind="png"), True, 20),
    "pdf": Format("a picture", (".pdf",), None, partial(_png, kind="pdf"), True, 20),
    "html": Format(
        "a page to explore",
        (".html", ".htm"),
        document=html.html,
        picture=True,
        most=500,
        heads=True,
    ),
}

if TYPE_CHECKING:
    FormatName = str
else:  # for the command line
    FormatName = Literal[tuple(FORMATS)]


def format_of(path: Path, *, pictures: bool = False) -> str:
    """The format that a file's name asks for; a ModelError if it is none, or not a picture's."""
    names = {
        suffix: name
        for name, known in FORMATS.items()
        for suffix in known.suffixes
        if known.picture or not pictures
    }
    if path.suffix.lower() not in names:
        kind = "picture" if pictures else "alignments"
        raise ModelError(f"{kind} {path}", f"a name ending in {', '.join(names)}")
    return names[path.suffix.lower()]


def written(pairs: Sequence[AlignedPair], name: str, style: Style | None = None) -> bytes:
    """Some pairs in a format of the table: all of a document, or the lines of these."""
    if name not in FORMATS:
        raise unknown_name("format", name, FORMATS)
    known = FORMATS[name]
    if known.document:
        return known.document(pairs)
    line: Any = known.line
    return "".join(line(pair, style or Style()) for pair in pairs).encode("utf-8", "replace")


def trouble(pairs: Sequence[AlignedPair], name: str) -> str:
    """What a picture of these pairs will not show as it should, or nothing."""
    if name not in ("png", "pdf"):
        return ""
    from attncli.render.alignment import png

    return png.trouble(pairs)
