"""Captions as text, TSV, JSON lines or one HTML page: one writer for each format.

- ``text``: the caption alone for one image, ``image <TAB> caption`` for several; with scores,
  the score and a tab precede the caption. With ``--nbest`` above 1, one row with score per output.
- ``tsv``: image, caption and score of each output, and the read mode of hard attention.
- ``jsonl``: one object per image: image, caption, hypotheses with text, score, log_prob, tokens
  and truncated, the read mode, and an error if there is no caption.
- ``html``: every image with its caption; each word shows its attention map.

Control characters in an image's name are written as escapes such as ``\\x1b``.

An image without a caption keeps its row, with an empty caption, if there are several. A line break
or tab inside a caption or a name becomes a space where it would break the format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from attncli.data.images.named import ImageFile
from attncli.render.json import as_json_line
from attncli.terminal.escapes import one_cell, printable
from models.base.types import Hypothesis

if TYPE_CHECKING:
    from attncli.render.image_attention.maps import AttentionMaps


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


class CaptionLayout(NamedTuple):
    """Layout of the output."""

    format: str = "text"  # a key of WRITERS
    alone: bool = False  # True if there is exactly one image
    nbest: bool = False  # True if an image may have several captions
    scores: bool = False  # True if plain text has scores
    read: str = ""  # read mode of the model


def opening(layout: CaptionLayout) -> bytes:
    """Return the bytes that precede the first result."""
    if layout.format != "html":
        return b""
    from attncli.render.image_attention.page import HEAD

    return HEAD.encode()


def rendered(outcomes: Sequence[CaptionedImage], layout: CaptionLayout) -> bytes:
    """Return the rows of some results; file names that are not valid UTF-8 keep their bytes."""
    write = WRITERS[layout.format]
    rows = "".join(f"{row}\n" for outcome in outcomes for row in write(outcome, layout))
    named = layout.format in ("text", "tsv")
    return rows.encode("utf-8", "surrogateescape" if named else "replace")


def closing(layout: CaptionLayout) -> bytes:
    """Return the bytes that follow the last result."""
    if layout.format != "html":
        return b""
    from attncli.render.image_attention.page import FOOT

    return FOOT.encode()


def _name(outcome: CaptionedImage) -> str:
    """Return the name of an image without what would break a row or control a terminal."""
    return printable(one_cell(outcome.file.name), keep_surrogates=True)


def _text(outcome: CaptionedImage, layout: CaptionLayout) -> Iterator[str]:
    name = "" if layout.alone else f"{_name(outcome)}\t"
    for hypothesis in outcome.hypotheses if layout.nbest else outcome.hypotheses[:1]:
        score = f"{hypothesis.score:.4f}\t" if layout.scores or layout.nbest else ""
        yield f"{name}{score}{one_cell(hypothesis.text)}"
    if not outcome.hypotheses and not layout.alone:
        yield name + ("\t" if layout.scores or layout.nbest else "")


def _tsv(outcome: CaptionedImage, layout: CaptionLayout) -> Iterator[str]:
    name = _name(outcome)
    read = f"\t{layout.read}" if layout.read.startswith("hard") else ""
    for hypothesis in outcome.hypotheses:
        yield f"{name}\t{one_cell(hypothesis.text)}\t{hypothesis.score:.4f}{read}"
    if not outcome.hypotheses:
        yield f"{name}\t\t{read}"


def _jsonl(outcome: CaptionedImage, layout: CaptionLayout) -> Iterator[str]:
    record: dict[str, object] = {
        "image": outcome.file.name,
        "caption": outcome.hypotheses[0].text if outcome.hypotheses else None,
        "hypotheses": [_record(hypothesis) for hypothesis in outcome.hypotheses],
    }
    if layout.read:
        record["read"] = layout.read
    if outcome.note:
        record["error"] = outcome.note
    yield as_json_line(record)


def _html(outcome: CaptionedImage, layout: CaptionLayout) -> Iterator[str]:
    from attncli.render.image_attention.page import Other, fault, figure

    if outcome.attention:
        others = [Other(text, score) for text, score, *_ in outcome.hypotheses[1:]]
        yield figure(outcome.attention, others)
    else:
        yield fault(outcome.file.name, outcome.note)


WRITERS: dict[str, Callable[[CaptionedImage, CaptionLayout], Iterator[str]]] = {
    "text": _text,
    "tsv": _tsv,
    "jsonl": _jsonl,
    "html": _html,
}

if TYPE_CHECKING:
    Format = str
else:  # for the command line
    Format = Literal[tuple(WRITERS)]


def _record(hypothesis: Hypothesis) -> dict[str, object]:
    return {
        "text": hypothesis.text,
        "score": hypothesis.score,
        "log_prob": hypothesis.log_prob,
        "tokens": hypothesis.tokens,
        "truncated": hypothesis.truncated,
    }
