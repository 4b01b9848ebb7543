"""Alignments as links and records, and the shades of their weights."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from attncli.data.streams import as_json_line
from attncli.task.panels import AlignedPair
from attncli.task.runner import JsonObject
from models.text.alignment import Alignment

DIGITS = 4
PLACE = "@DATA@"  # of the pairs in page.html
ROW, HEAD = 33, 305  # pixels of a row of a heat map, and of what is above it
# colours of weights at equal distances from 0 to 1
STOPS = ((255, 255, 255), (198, 219, 239), (66, 146, 198), (8, 48, 107))
LINK = "#d55e00"  # the frame of a link


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


class Shade(NamedTuple):
    """A colour, and the colour of text on it."""

    red: int
    green: int
    blue: int

    @property
    def code(self) -> str:
        """Return the colour as HTML writes it."""
        return f"#{self.red:02x}{self.green:02x}{self.blue:02x}"

    @property
    def dark(self) -> bool:
        """Return True if text on this colour must be light."""
        return 0.299 * self.red + 0.587 * self.green + 0.114 * self.blue < 140


def shade(weight: float) -> Shade:
    """Return the colour of a weight from 0 to 1; a larger weight is darker."""
    place = min(max(weight, 0.0), 1.0) * (len(STOPS) - 1)
    before = min(int(place), len(STOPS) - 2)
    part = place - before
    low, high = STOPS[before], STOPS[before + 1]
    return Shade(*(round(a + part * (b - a)) for a, b in zip(low, high, strict=True)))
