"""Alignments as one HTML page that loads nothing from the network or from other files.

The page contains the pairs as JSON: weights in thousandths, row by row; weights of every layer and
head as base64 of one byte each. `page.html` in this folder is the template.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from attncli.data.panels import AlignedPair, Panel

PLACE = "@DATA@"


def html(pairs: Sequence[AlignedPair]) -> bytes:
    """Return the page of some pairs."""
    page = files(__package__).joinpath("page.html").read_text("utf-8")
    data = json.dumps([_record(pair) for pair in pairs], ensure_ascii=False, separators=(",", ":"))
    before, after = page.split(PLACE)
    return f"{before}{data.replace('<', chr(92) + 'u003c')}{after}".encode("utf-8", "replace")


def _record(pair: AlignedPair) -> dict[str, Any]:
    record: dict[str, Any] = {
        "number": pair.number,
        "source": pair.source,
        "target": pair.target,
        "panels": [_panel(panel) for panel in pair.panels],
    }
    if pair.score is not None:
        record["score"] = round(pair.score, 3)
    if pair.note:
        record["note"] = pair.note
    return record


def _panel(panel: Panel) -> dict[str, Any]:
    record: dict[str, Any] = {"name": panel.name, "links": sorted(panel.links)}
    if panel.weights is not None:
        record["weights"] = [round(1000 * float(x)) for x in panel.weights.ravel()]
    if panel.heads is not None:
        levels = (255 * panel.heads.clip(0, 1)).round().astype("uint8")
        record["shape"] = panel.heads.shape[:2]
        record["heads"] = base64.b64encode(levels.tobytes()).decode("ascii")
    return record
