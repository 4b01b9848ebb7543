"""Captions as text, TSV, JSON lines or one HTML page: one writer for each format.

- ``text``: the caption alone for one picture, ``picture <TAB> caption`` for several; with scores,
  the score and a tab before the caption. With ``--nbest`` above 1, a row with its score for each.
- ``tsv``: picture, caption and score of each output, and how the model read if it is hard.
- ``jsonl``: an object for each picture: image, caption, hypotheses with text, score, log_prob and
  pieces, how the model read, and an error where there is no caption.
- ``html``: every picture with its caption, whose words show where the model looked.

Control characters in a picture's name are written as escapes such as ``\\x1b``.

A picture without a caption keeps its row, with an empty caption, if there are several. A line break
or tab inside a caption or a name becomes a space where it would break the format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from attncli.data.picture_files import PictureFile
from attncli.escapes import printable
from attncli.render.json import as_json_line
from models.types import Hypothesis

if TYPE_CHECKING:
    from attncli.render.image_attention.look import Look


class Outcome(NamedTuple):
    """What became of a picture."""

    file: PictureFile
    hypotheses: tuple[Hypothesis, ...]  # best first; none: there is no caption, `note` says why
    look: Look | None = None  # where the model looked, if that was asked for
    note: str = ""

    @property
    def caption(self) -> str:
        """The best caption; empty where there is none."""
        return one_line(self.hypotheses[0].text) if self.hypotheses else ""


class Layout(NamedTuple):
    """How outcomes are written."""

    format: str = "text"  # a key of WRITERS
    alone: bool = False  # whether there is one picture and no more
    nbest: bool = False  # whether a picture may have more than one caption
    scores: bool = False  # whether plain text has scores
    read: str = ""  # how the model read the picture


def opening(layout: Layout) -> bytes:
    """What comes before the first outcome."""
    if layout.format != "html":
        return b""
    from attncli.render.image_attention.page import HEAD

    return HEAD.encode()


def rendered(outcomes: Sequence[Outcome], layout: Layout) -> bytes:
    """The rows of some outcomes; names that are no valid text are written as they came."""
    write = WRITERS[layout.format]
    rows = "".join(f"{row}\n" for outcome in outcomes for row in write(outcome, layout))
    named = layout.format in ("text", "tsv")
    return rows.encode("utf-8", "surrogateescape" if named else "replace")


def closing(layout: Layout) -> bytes:
    """What comes after the last outcome."""
    if layout.format != "html":
        return b""
    from attncli.render.image_attention.page import FOOT

    return FOOT.encode()


def one_line(text: str) -> str:
    """A text without what would break a row."""
    return text.replace("\r", " ").replace("\n", " ").replace("\t", " ")


def _name(outcome: Outcome) -> str:
    """Return the name of a picture without what would break a row or control a terminal."""
    return printable(one_line(outcome.file.name), keep_surrogates=True)


def _text(outcome: Outcome, layout: Layout) -> Iterator[str]:
    name = "" if layout.alone else f"{_name(outcome)}\t"
    for hypothesis in outcome.hypotheses if layout.nbest else outcome.hypotheses[:1]:
        score = f"{hypothesis.score:.4f}\t" if layout.scores or layout.nbest else ""
        yield f"{name}{score}{one_line(hypothesis.text)}"
    if not outcome.hypotheses and not layout.alone:
        yield name + ("\t" if layout.scores or layout.nbest else "")


def _tsv(outcome: Outcome, layout: Layout) -> Iterator[str]:
    name = _name(outcome)
    read = f"\t{layout.read}" if layout.read.startswith("hard") else ""
    for hypothesis in outcome.hypotheses:
        yield f"{name}\t{one_line(hypothesis.text)}\t{hypothesis.score:.4f}{read}"
    if not outcome.hypotheses:
        yield f"{name}\t\t{read}"


def _jsonl(outcome: Outcome, layout: Layout) -> Iterator[str]:
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


def _html(outcome: Outcome, layout: Layout) -> Iterator[str]:
    from attncli.render.image_attention.page import Other, fault, figure

    if outcome.look:
        others = [Other(text, score) for text, score, *_ in outcome.hypotheses[1:]]
        yield figure(outcome.look, others)
    else:
        yield fault(outcome.file.name, outcome.note)


WRITERS: dict[str, Callable[[Outcome, Layout], Iterator[str]]] = {
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
