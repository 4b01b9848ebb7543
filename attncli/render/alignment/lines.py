"""Alignments as lines of text, one for each pair (NAACL: one for each link).

- ``pharaoh``: `0-0 1-2`, source first, counted from 0; with probabilities `0-0:0.93`, the weight
  that the target unit gives to the source unit.
- ``talp``: as Pharaoh, but counted from 1. ``naacl``: `1 1 1 S`, sentence and words counted from 1.
- ``jsonl``: source and target units, weights (a row for each target unit), links, score, and a
note where there is no alignment; external alignments in `views`, by file name.
"""

from __future__ import annotations

from typing import Any

from attncli.data.panels import AlignedPair, Panel
from attncli.render.json import as_json_line

DIGITS = 4


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
    """Return an object with units, weights, links, score and note of the pair."""
    first, *others = pair.panels
    record: dict[str, Any] = {"source": pair.source, "target": pair.target, **record_of(first)}
    if pair.score is not None:
        record["score"] = round(pair.score, 6)
    if pair.note:
        record["note"] = pair.note
    if others:
        record["views"] = {panel.name: record_of(panel) for panel in others}
    return as_json_line(record) + pair.ending


def linked(panel: Panel, base: int, probabilities: bool) -> str:
    """Return the links separated by spaces, counted from base."""
    known = {link: f":{panel.weight(*link):.{DIGITS}f}" for link in panel.links if probabilities}
    return " ".join(f"{i + base}-{j + base}{known.get((i, j), '')}" for i, j in sorted(panel.links))


def record_of(panel: Panel) -> dict[str, Any]:
    """Return links and weights as a JSON object."""
    record: dict[str, Any] = {"links": sorted(panel.links)}
    if panel.weights is not None:
        record["weights"] = rounded(panel.weights)
    return record


def inputs_of(pair: AlignedPair) -> dict[str, Any]:
    """Return the input of each source unit, and the weights on image cells, of several inputs."""
    record: dict[str, Any] = {"inputs": pair.inputs} if pair.inputs else {}
    return record if pair.cells is None else {**record, "cells": rounded(pair.cells)}


def rounded(table: Any) -> list[list[float]]:
    """Return a table of weights with few digits."""
    return [[round(float(x), DIGITS) for x in row] for row in table]
