"""Explanations as text, heat maps or JSON lines; see docs/explain.md.

A heat map has a row for each method. A cell is the share of the largest relevance of the row;
negative relevances are 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attncli.data.streams import Write, as_json_line, open_output
from attncli.explain.explained import ExplainedLine
from attncli.options.line_streams import Drawing, Picture
from attncli.render.alignment_writers import heat_maps
from attncli.render.image_attention import maps_as_text, writer_of
from attncli.render.rows import columns
from attncli.task.panels import AlignedPair, Panel
from attncli.task.runner import JsonObject
from attncli.terminal.messages import Messages, Screen, printable
from models.core.errors import ConfigurationError, ModelError
from models.explain.explanation import Explanation, Measure
from models.explain.methods import TOLERANCE

DIGITS = 4
REFERENCE = "erasure"  # method that the others are correlated with in text


class Layout(NamedTuple):
    """Destinations of the explanations."""

    format: str  # of WRITERS
    screen: Screen
    drawing: Drawing  # lines that are shown; its file has heat maps of texts
    show: bool = False  # True draws the maps of an image in the terminal
    picture: Path | None = None  # maps over an image


def write_all(
    outcomes: Iterable[ExplainedLine], write: Write, layout: Layout, messages: Messages
) -> int:
    """Write explanations as they finish; return the number of lines without one."""
    picture, refused, told = Picture(layout.drawing), 0, set[str]()
    for outcome in outcomes:
        found = outcome.explanation
        for method, reason in {} if found is None else found.unsupported.items():
            if method not in told:
                messages.say(f"{method} is left out: {reason}")
                told.add(method)
        if found is not None and not found.rows:
            raise ConfigurationError("no method that the model supports", "another --method")
        text = WRITERS[layout.format](outcome, layout.screen, layout.show)
        write(text.encode("utf-8", "replace"))
        if outcome.note:
            messages.warn(outcome.note)
            refused += 1
        if outcome.remark:
            messages.say(outcome.remark)
        if found is not None:
            for row in found.rows:  # whose relevances do not sum to what they must
                for word, gap in zip(
                    found.target, [] if row.gaps is None else row.gaps, strict=False
                ):
                    if gap > 1.5 * TOLERANCE:
                        said = f"{word}: the sum of {row.method} is {gap:.1%} off"
                        messages.say(f"line {outcome.line.number}, {said}")
            draw(outcome, picture, layout.picture)
    picture.draw()
    return refused


def draw(outcome: ExplainedLine, picture: Picture, path: Path | None) -> None:
    """Collect the heat map of a text, or write the maps of an image."""
    if outcome.maps is None:
        picture.take([heat_map_pair(outcome)])
    elif path is not None:
        if outcome.line.number > 1:
            raise ModelError(f"--picture {path} for several images", "one image")
        with open_output(path) as write:
            write(writer_of(path)(outcome.maps))


def heat_map_pair(outcome: ExplainedLine) -> AlignedPair:
    """Return a line as it is drawn: methods down, source words across, a panel for each word."""
    found = outcome.explanation
    assert found is not None
    methods = tuple(row.method for row in found.rows)
    panels = tuple(
        Panel(word, frozenset(), shades([row.values[number] for row in found.rows]))
        for number, word in enumerate(found.target)
    )
    return AlignedPair(outcome.line.number, found.source, methods, panels, note=outcome.output)


def shades(rows: Sequence[Tensor]) -> Any:
    """Return rows (M, I) of relevances as shares of the largest, from 0 to 1."""
    values = torch.stack([*rows]).clamp_min(0)
    return (values / values.amax(1, keepdim=True).clamp_min(1e-12)).numpy()


def as_text(outcome: ExplainedLine, screen: Screen, maps: bool) -> str:
    """Return heat maps (of an image, if `maps`), a table of measures, and an empty line."""
    found = outcome.explanation
    if found is None:
        return "\n"
    if not found.source:  # the maps of an image are drawn over it
        head = f"{outcome.line.number}  {printable(outcome.line.text)}  {outcome.output}\n"
        drawn = maps_as_text(outcome.maps, screen) if maps and outcome.maps else ""
        return f"{head}{drawn}{measure_table(found)}\n"
    return f"{heat_maps(heat_map_pair(outcome), screen)}{measure_table(found)}\n"


def measure_table(found: Explanation) -> str:
    """Return the means of the measures over the words, a row for each method."""
    names = [measure.name for measure in found.control]
    reference = next((row for row in found.rows if row.method == REFERENCE), None)
    rows = [["", *names, *([f"correlation with {REFERENCE}"] if reference else [])]]
    for row in found.rows:
        correlation = [] if reference is None else [found.correlation(row, reference)]
        rows.append([row.method, *map(_number, [*means(row.measures), *correlation])])
    rows.append(["random", *map(_number, means(found.control)), *([""] if reference else [])])
    return columns(rows)


def means(measures: Sequence[Measure]) -> list[float]:
    """Return the mean of each measure over the words."""
    return [float(measure.values.mean()) for measure in measures]


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value + 0.0:.3f}".replace("-0.000", "0.000")


def as_json(outcome: ExplainedLine) -> str:
    """Return an explanation as one JSON object; an empty line for an empty line."""
    found = outcome.explanation
    if found is None:
        return as_json_line({"error": outcome.note}) + "\n" if outcome.note else "\n"
    source: JsonObject = {"source": found.source}
    if outcome.maps is not None:
        source = {"image": outcome.line.text, "grid": outcome.maps.maps.shape[1:]}
    record = {
        **source,
        "target": found.target,
        "log_probs": rounded(found.log_probs),
        "methods": {
            row.method: {
                "relevances": rounded(row.values),
                **({} if row.gaps is None else {"gaps": rounded(row.gaps)}),
                **measured(row.measures),
            }
            for row in found.rows
        },
        "random": measured(found.control),
        "correlations": correlations(found),
        "unsupported": found.unsupported,
    }
    return as_json_line(record) + "\n"


def correlations(found: Explanation) -> dict[str, dict[str, float | None]]:
    """Return the rank correlation of each pair of methods; None if it is not defined."""

    def known(value: float) -> float | None:
        return None if math.isnan(value) else round(value, DIGITS)

    rows = found.rows
    return {
        one.method: {other.method: known(found.correlation(one, other)) for other in rows}
        for one in rows
    }


def measured(measures: Sequence[Measure]) -> JsonObject:
    """Return the measures of each word by name, and the curves whose areas the measures are."""
    record = {measure.name: rounded(measure.values) for measure in measures}
    curves = {f"{m.name}_curve": rounded(m.curve) for m in measures if m.curve is not None}
    return {**record, **curves}


def rounded(values: Tensor) -> Any:
    """Return numbers with a few digits, as lists."""
    return (values.double() * 10**DIGITS).round().div(10**DIGITS).tolist()


WRITERS: dict[str, Callable[[ExplainedLine, Screen, bool], str]] = {
    "text": as_text,
    "jsonl": lambda outcome, screen, maps: as_json(outcome),
}
