"""Table of alignment formats, used by every command that shows attention.

Formats of lines are written pair by pair; a document contains all pairs. If no format is given, the
suffix of the file name selects it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from attncli.data.panels import AlignedPair
from attncli.render.alignment import data
from attncli.render.alignment.terminal import SCREEN, heat_maps
from attncli.terminal.screen import Screen
from models.base.errors import ModelError, unknown_name


class Style(NamedTuple):
    """Options of a format."""

    probabilities: bool = False  # after each link, if the format supports it
    screen: Screen = SCREEN


class Format(NamedTuple):
    """A format of alignments, written either by line or as one document."""

    suffixes: tuple[str, ...] = ()
    line: Callable[[AlignedPair, Style], str] | None = None
    document: Callable[[Sequence[AlignedPair]], bytes] | None = None
    picture: bool = False
    most: int | None = None  # default limit on pairs in a document
    heads: bool = False  # True: the weights of every head are written
    scores: bool = False  # True: so is the score of each pair


def _drawn(pairs: Sequence[AlignedPair], kind: str) -> bytes:
    from attncli.render.alignment.figures import draw_alignments

    return draw_alignments(pairs, kind=kind)


def _line(write: Callable[[AlignedPair, bool], str]) -> Callable[[AlignedPair, Style], str]:
    return lambda pair, style: write(pair, style.probabilities)


FORMATS: dict[str, Format] = {
    "pharaoh": Format((".pharaoh", ".align", ".txt"), _line(data.pharaoh)),
    "talp": Format((".talp",), _line(partial(data.pharaoh, base=1))),
    "naacl": Format((".naacl", ".wa"), _line(data.naacl)),
    "jsonl": Format((".jsonl", ".json"), lambda pair, style: data.jsonl(pair), scores=True),
    "npz": Format((".npz",), document=data.npz, heads=True, scores=True),
    "terminal": Format(line=lambda pair, style: heat_maps(pair, style.screen)),
    "svg": Format((".svg",), None, partial(_drawn, kind="svg"), True, 20),
    "png": Format((".png",), None, partial(_drawn, kind="png"), True, 20),
    "pdf": Format((".pdf",), None, partial(_drawn, kind="pdf"), True, 20),
    "html": Format(
        (".html", ".htm"), document=data.html, picture=True, most=500, heads=True, scores=True
    ),
}

if TYPE_CHECKING:
    FormatName = str
else:  # for the command line
    FormatName = Literal[tuple(FORMATS)]


def format_of(path: Path, *, pictures: bool = False, arrays: bool = False) -> str:
    """Return the format for a file's suffix; a ModelError if it is unknown or not a picture.

    arrays: True accepts NumPy arrays among the pictures.
    """
    names = {
        suffix: name
        for name, known in FORMATS.items()
        for suffix in known.suffixes
        if known.picture or not pictures or (arrays and name == "npz")
    }
    if path.suffix.lower() not in names:
        kind = "picture" if pictures else "alignments"
        raise ModelError(f"{kind} {path}", f"a name ending in {', '.join(names)}")
    return names[path.suffix.lower()]


def written(pairs: Sequence[AlignedPair], name: str, style: Style | None = None) -> bytes:
    """Return pairs in a format: a whole document, or the lines of these pairs."""
    if name not in FORMATS:
        raise unknown_name("format", name, FORMATS)
    known = FORMATS[name]
    if known.document:
        return known.document(pairs)
    line: Any = known.line
    return "".join(line(pair, style or Style()) for pair in pairs).encode("utf-8", "replace")
