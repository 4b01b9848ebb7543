"""Alignments in the formats of files, and as text and heat maps in the terminal."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from attncli.data.streams import as_json_line
from attncli.task.panels import AlignedPair
from attncli.task.runner import JsonObject
from attncli.terminal.messages import (
    GROUND,
    Screen,
    colour_code,
    fitted,
    padded,
    width,
    without_controls,
)
from models.core.errors import ModelError
from models.text.alignment import Alignment

DIGITS = 4
PLACE = "@DATA@"  # of the pairs in page.html
ROW, HEAD = 33, 305  # pixels of a row of a heat map, and of what is above it
# Alignments as heat maps in a terminal: target words down, source words across.
#
# A cell is a percentage if there is room for it, else a shade. A link has brackets or a star. Long
# source words are staggered, one line per word, so that they stay whole and readable in any script.
# A panel wider than the terminal continues below. Right-to-left words are isolated (Unicode bidi
# isolates), so that they do not reorder the cells next to them.


NUMBERS, SHADES = 5, 2  # columns of a cell
GAP = "   "  # between panels side by side
MARKS = " ░▒▓█"
FAINT = 0.05
GREY, BLUE = (115, 125, 140), (0, 95, 255)  # colours of weight 0 and 1
SCREEN = Screen()


def pharaoh(pair: AlignedPair, probabilities: bool, base: int = 0) -> str:
    """Return the links of the first panel, counted from base."""
    return linked(pair.panels[0], base, probabilities) + pair.ending


def naacl(pair: AlignedPair, probabilities: bool) -> str:
    """Return a line per link of the first panel: sentence, source, target, S, probability."""
    panel, rows = pair.panels[0], []
    for i, j in sorted(panel.links):
        known = f" {panel.weight(i, j):.{DIGITS}f}" if probabilities else ""
        rows.append(f"{pair.number} {i + 1} {j + 1} S{known}\n")
    return "".join(rows)


def jsonl(pair: AlignedPair) -> str:
    """Return the record of a pair as a line."""
    return as_json_line(pair_record(pair)) + pair.ending


def pair_record(pair: AlignedPair) -> JsonObject:
    """Return units, weights, links, score and note of a pair."""
    first, *others = pair.panels
    record = {"source": pair.source, "target": pair.target, **record_of(first), **_noted(pair, 6)}
    record |= entries_of(first.entries)
    if others:
        record["views"] = {panel.name: record_of(panel) for panel in others}
    return record


def linked(panel: Alignment, base: int, probabilities: bool) -> str:
    """Return the links separated by spaces, counted from base."""
    known = {link: f":{panel.weight(*link):.{DIGITS}f}" for link in panel.links if probabilities}
    return " ".join(f"{i + base}-{j + base}{known.get((i, j), '')}" for i, j in sorted(panel.links))


def record_of(panel: Alignment) -> JsonObject:
    """Return links and weights as a JSON object."""
    record: JsonObject = {"links": sorted(panel.links)}
    if (table := panel.table) is not None:
        record["weights"] = _rounded(table)
    return record


def entries_of(entries: Sequence[NamedTuple]) -> JsonObject:
    """Return the entries of a lexicon that were read; nothing if there are none."""
    return {"entries": [one._asdict() for one in entries]} if entries else {}


def inputs_of(found: Alignment) -> JsonObject:
    """Return the input of each source unit, and the weights on image cells, of several inputs."""
    record: JsonObject = {"inputs": found.inputs} if found.inputs else {}
    record |= entries_of(found.entries)
    return record if found.cells is None else {**record, "cells": _rounded(found.cells)}


def _rounded(table: Any) -> list[list[float]]:
    """Return a table of weights with few digits."""
    return [[round(float(x), DIGITS) for x in row] for row in table]


def _noted(pair: AlignedPair, digits: int) -> JsonObject:
    """Return score and note of a pair, if it has them."""
    record: JsonObject = {} if pair.score is None else {"score": round(pair.score, digits)}
    return {**record, "note": pair.note} if pair.note else record


def npz(pairs: Sequence[AlignedPair]) -> bytes:
    """Return all pairs as one .npz file."""
    import numpy

    arrays: dict[str, Any] = {}
    for pair in pairs:
        panel = pair.panels[0]
        found = {
            "source": numpy.array(pair.source, dtype=str),
            "target": numpy.array(pair.target, dtype=str),
            "weights": panel.table,
            "links": numpy.array(sorted(panel.links), dtype=numpy.int64).reshape(-1, 2),
            "score": pair.score,
            "heads": panel.heads,
        }
        arrays |= {
            f"{name}_{pair.number}": numpy.asarray(value)
            for name, value in found.items()
            if value is not None
        }
        for k, other in enumerate(pair.panels[1:], 2):
            links = numpy.array(sorted(other.links), dtype=numpy.int64).reshape(-1, 2)
            arrays[f"links_{pair.number}_{k}"] = links
            if (table := other.table) is not None:
                arrays[f"weights_{pair.number}_{k}"] = table
    buffer = io.BytesIO()
    numpy.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def html(pairs: Sequence[AlignedPair]) -> bytes:
    """Return the page of some pairs."""
    records = [
        {
            "number": pair.number,
            "source": pair.panels[0].axis,
            "target": pair.target,
            "panels": [_panel(panel) for panel in pair.panels],
            **_noted(pair, 3),
        }
        for pair in pairs
    ]
    data = json.dumps(records, ensure_ascii=False, separators=(",", ":")).replace("<", r"\u003c")
    whole = files(__package__).joinpath("page.html").read_text("utf-8")
    return whole.replace(PLACE, data).encode("utf-8", "replace")


def page(pair: AlignedPair) -> tuple[bytes, int]:
    """Return the page of a pair, and its height in pixels."""
    return html([pair]), HEAD + ROW * len(pair.target)


def _panel(panel: Alignment) -> JsonObject:
    record: JsonObject = {"name": panel.title, "links": sorted(panel.framed)}
    if (table := panel.table) is not None:
        record["weights"] = [round(1000 * float(x)) for x in table.ravel()]
    if panel.heads is not None:
        levels = (255 * panel.heads.clip(0, 1)).round().astype("uint8")
        record["shape"] = panel.heads.shape[:2]
        record["heads"] = base64.b64encode(levels.tobytes()).decode("ascii")
    return record


class TextBlock(NamedTuple):
    """Lines of text, and the width of the longest in columns."""

    lines: list[str]
    width: int


def heat_maps(pair: AlignedPair, screen: Screen = SCREEN) -> str:
    """Draw the panels of a pair, side by side if they fit."""
    head = [f"{pair.number}" + (f"  {pair.note}" if pair.note else "")]
    if not pair.source or not pair.target:
        return "\n".join([*head, ""]) + "\n"
    source, target = _clean(pair.panels[0].axis), _clean(pair.target)
    panels = (one._replace(source=source, target=target) for one in pair.panels)
    pair = replace(pair, panels=tuple(panels))
    return "".join(f"{line.rstrip()}\n" for line in [*head, *_arranged(pair, screen), ""])


def _arranged(pair: AlignedPair, screen: Screen) -> list[str]:
    """Return all panels side by side with the widest cells that fit, else one under another."""
    every = range(len(pair.source))
    for cell in (NUMBERS, SHADES):
        blocks = [_block(pair, panel, every, cell, screen) for panel in pair.panels]
        if sum(block.width for block in blocks) + len(GAP) * (len(blocks) - 1) <= screen.width:
            rows = zip(*(block.lines for block in blocks), strict=True)
            return [GAP.join(parts) for parts in rows]
    lines = []
    for panel in pair.panels:
        for block in _parts(pair, panel, screen):
            lines += [*block.lines, ""]
    return lines[:-1]


def _parts(pair: AlignedPair, panel: Alignment, screen: Screen) -> Iterator[TextBlock]:
    """Return a panel as one block, or as several if it is wider than the terminal."""
    block = _block(pair, panel, range(len(pair.source)), NUMBERS, screen)
    if block.width <= screen.width:
        yield block
        return
    start = 0
    for end in range(1, len(pair.source) + 1):
        wider = _block(pair, panel, range(start, end), SHADES, screen)
        if wider.width > screen.width and end > start + 1:
            yield block
            start = end - 1
            wider = _block(pair, panel, range(start, end), SHADES, screen)
        block = wider
    yield block


def _block(
    pair: AlignedPair, panel: Alignment, columns: Sequence[int], cell: int, screen: Screen
) -> TextBlock:
    """Return some columns of a panel below their words."""
    room = max(screen.width // 3, 4)
    margin = min(max(map(width, pair.target)), room)
    names = [fitted(pair.source[i], max(screen.width - margin - 2, 4)) for i in columns]
    lines = [f"{' ' * margin} {line}" for line in _header(names, cell)]
    size = max(len(columns) * cell, *_reach(names, cell))
    for j, word in enumerate(pair.target):
        cells = "".join(_cell(panel, i, j, cell, screen) for i in columns)
        label = padded(fitted(word, margin), margin, right=True)
        lines.append(f"{label} {cells}{' ' * (size - len(columns) * cell)}")
    named = any(other.name for other in pair.panels)
    title = [padded(fitted(panel.name, margin + 1 + size), margin + 1 + size)] if named else []
    return TextBlock([*title, *lines], margin + 1 + size)


def _header(names: Sequence[str], cell: int) -> list[str]:
    """Return words above their columns: in one line if each fits, else one line per word."""
    if all(width(name) < cell for name in names):
        return ["".join(padded(name, cell - 1, right=True) + " " for name in names)]
    size = max(_reach(names, cell))
    return ["│".ljust(cell) * n + padded(name, size - n * cell) for n, name in enumerate(names)]


def _reach(names: Sequence[str], cell: int) -> list[int]:
    """Return the columns at which the staggered words end."""
    return [n * cell + width(name) for n, name in enumerate(names)]


def _cell(panel: Alignment, i: int, j: int, cell: int, screen: Screen) -> str:
    weight, linked = panel.weight(i, j), panel.has_frame(i, j)
    if panel.table is None:
        return ("■" if linked else "·").center(cell)
    text = (
        _number(weight, linked) if cell == NUMBERS else _mark(weight, linked, bool(screen.colours))
    )
    return coloured(text, weight, screen) if screen.colours else text


def _number(weight: float, linked: bool) -> str:
    percent = round(100 * weight)
    text = f"{percent:3d}" if percent else "  ·"
    return f"[{text}]" if linked else f" {text} "


def _mark(weight: float, linked: bool, colour: bool) -> str:
    """Return two columns: a shade and, for a link, a star."""
    mark = " " if colour else MARKS[min(round(weight * (len(MARKS) - 1)), len(MARKS) - 1)]
    if linked:
        return "[]" if colour else f"{mark}*"
    return mark * 2 if colour or mark != " " else "· "


def coloured(text: str, weight: float, screen: Screen) -> str:
    """Return a cell on its colour; small weights have none, to suit dark and light terminals."""
    if weight < FAINT:
        return text
    colour = [round(a + weight * (b - a)) for a, b in zip(GREY, BLUE, strict=True)]
    return f"\x1b[97;{colour_code(colour, screen, GROUND)}m{text}\x1b[0m"


def _clean(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(without_controls(word) or "?" for word in words)


class Format(NamedTuple):
    """A format of alignments, written either by line or as one document."""

    suffixes: tuple[str, ...] = ()
    line: Callable[[AlignedPair, bool], str] | None = None  # given if weights are written
    document: Callable[[Sequence[AlignedPair]], bytes] | None = None
    picture: bool = False
    most: int | None = None  # default limit on pairs in a document
    heads: bool = False  # True: the weights of every head are written
    scores: bool = False  # True: so is the score of each pair


def _drawn(pairs: Sequence[AlignedPair], kind: str) -> bytes:
    from attncli.render.figures import draw_alignments

    return draw_alignments(pairs, kind=kind)


FORMATS: dict[str, Format] = {
    "pharaoh": Format((".pharaoh", ".align", ".txt"), pharaoh),
    "talp": Format((".talp",), partial(pharaoh, base=1)),
    "naacl": Format((".naacl", ".wa"), naacl),
    "jsonl": Format((".jsonl", ".json"), lambda pair, weights: jsonl(pair), scores=True),
    "npz": Format((".npz",), document=npz, heads=True, scores=True),
    "svg": Format((".svg",), None, partial(_drawn, kind="svg"), True, 20),
    "png": Format((".png",), None, partial(_drawn, kind="png"), True, 20),
    "pdf": Format((".pdf",), None, partial(_drawn, kind="pdf"), True, 20),
    "html": Format(
        (".html", ".htm"), document=html, picture=True, most=500, heads=True, scores=True
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


def written(pairs: Sequence[AlignedPair], name: str, *, probabilities: bool = False) -> bytes:
    """Return pairs in a format: a whole document, or the lines of these pairs."""
    known = FORMATS[name]
    if known.document:
        return known.document(pairs)
    assert known.line
    return "".join(known.line(pair, probabilities) for pair in pairs).encode("utf-8", "replace")
