"""Captions as text, TSV, JSON lines or one HTML page: their cells and records; see docs/caption.md.

An image without a caption keeps its row, with an empty caption, if there are several. Control
characters in its name are written as escapes; a line break or tab that breaks a row is a space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from attncli.data.named_files import ImageFile
from attncli.render.rows import (
    InputCells,
    OutputCells,
    RowFormat,
    RowLayout,
    RowWriter,
    hypothesis_record,
)
from attncli.terminal.messages import one_cell, printable
from models.core.types import Hypothesis

if TYPE_CHECKING:
    from attncli.render.image_maps import AttentionMaps


class CaptionedImage(NamedTuple):
    """An image with its captions."""

    file: ImageFile
    hypotheses: tuple[Hypothesis, ...]  # best first; none: `note` has the reason
    attention: AttentionMaps | None = None  # attention maps, if requested
    note: str = ""

    @property
    def caption(self) -> str:
        """The best caption; empty if there is none."""
        return one_cell(self.hypotheses[0].text) if self.hypotheses else ""


def frame(layout: RowLayout) -> tuple[bytes, bytes]:
    """Return the bytes before the first result and those after the last: of a page in HTML."""
    if layout.format != "html":
        return b"", b""
    from attncli.render.image_attention import FOOT, HEAD

    return HEAD.encode(), FOOT.encode()


def rendered(outcomes: Sequence[CaptionedImage], layout: RowLayout) -> bytes:
    """Return the rows of some results; file names that are not valid UTF-8 keep their bytes."""
    rows = "".join(f"{row}\n" for each in outcomes for row in WRITER.rows(each, layout))
    named = layout.format in ("text", "tsv")
    return rows.encode("utf-8", "surrogateescape" if named else "replace")


def _name(outcome: CaptionedImage) -> str:
    """Return the name of an image without what would break a row or control a terminal."""
    return printable(one_cell(outcome.file.name), keep_surrogates=True)


def _text(outcome: CaptionedImage, layout: RowLayout) -> Iterator[str]:
    name = "" if layout.alone else f"{_name(outcome)}\t"
    for hypothesis in outcome.hypotheses if layout.nbest else outcome.hypotheses[:1]:
        score = f"{hypothesis.score:.4f}\t" if layout.scores or layout.nbest else ""
        yield f"{name}{score}{one_cell(hypothesis.text)}"
    if not outcome.hypotheses and not layout.alone:
        yield name + ("\t" if layout.scores or layout.nbest else "")


def _cells(outcome: CaptionedImage, layout: RowLayout) -> InputCells:
    read = (layout.read,) if layout.read.startswith("hard") else ()
    outputs = [OutputCells(each.text, f"{each.score:.4f}", read) for each in outcome.hypotheses]
    return InputCells(_name(outcome), outputs or [OutputCells(columns=read)])


def _record(outcome: CaptionedImage, layout: RowLayout) -> dict[str, object]:
    record: dict[str, object] = {
        "image": outcome.file.name,
        "caption": outcome.hypotheses[0].text if outcome.hypotheses else None,
        "hypotheses": [hypothesis_record(hypothesis) for hypothesis in outcome.hypotheses],
    }
    if layout.read:
        record["read"] = layout.read
    if outcome.note:
        record["error"] = outcome.note
    return record


def _html(outcome: CaptionedImage, layout: RowLayout) -> Iterator[str]:
    from attncli.render.image_attention import fault, figure

    if outcome.attention:
        others = [(text, score) for text, score, *_ in outcome.hypotheses[1:]]
        yield figure(outcome.attention, others)
    else:
        yield fault(outcome.file.name, outcome.note)


WRITER = RowWriter(_cells, _record, {"text": _text, "html": _html})

if TYPE_CHECKING:
    CaptionFormat = str
else:  # for the command line
    CaptionFormat = Literal[RowFormat, "html"]
