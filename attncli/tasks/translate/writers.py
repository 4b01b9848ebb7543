"""Translations as text, TSV or JSON lines: one writer for each format.

- ``text``: the best output of each line; with scores, the score and a tab precede it. With
  ``--nbest`` above 1, n-best lists as in Moses: ``index ||| output ||| score``, index from 0.
  With alignments, links follow the output as in Marian: ``output ||| 0-0 2-1``.
- ``tsv``: source, output and score of each output, and its links if requested.
- ``jsonl``: one object per line: source, hypotheses with text, score, log_prob, tokens, truncated
  (and alignment: units of source and target, links, a row of weights per target unit; and
  repetition, if the output is caught in a loop), the read mode of hard attention, and an error if
  the line was not translated.

Hypotheses are sorted by score; log_prob is the natural logarithm of the probability. A line break
or a tab in an output or a source (byte tokens can produce any character) becomes a space if it
would break the format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from attncli.data.lines import TranslatedLine
from attncli.render.json import as_json_line
from attncli.render.rows import encoded_rows
from attncli.terminal.escapes import one_cell, one_line
from models.base.types import Hypothesis
from models.inference.search.repetition import repetition


class TranslationLayout(NamedTuple):
    """Layout of the output."""

    format: str = "text"  # a key of WRITERS
    nbest: bool = False  # True if a line may have several outputs
    scores: bool = False  # True if plain text has scores
    read: str = ""  # read mode of the model
    align: bool = False  # True if links follow each output


def rendered(outcomes: list[TranslatedLine], layout: TranslationLayout) -> bytes:
    """Return the rows of some lines as UTF-8, each with the line ending of its source."""
    return encoded_rows(outcomes, layout, WRITERS)


def _text(outcome: TranslatedLine, layout: TranslationLayout) -> Iterator[str]:
    hypotheses = _hypotheses(outcome)
    if layout.nbest:
        index = outcome.line.number - 1
        for rank, hypothesis in enumerate(hypotheses):
            links = _links(outcome, rank, layout, " ||| ")
            yield f"{index} ||| {one_line(hypothesis.text)} ||| {hypothesis.score:.4f}{links}"
        if not hypotheses:
            yield f"{index} |||  ||| "
        return
    best = hypotheses[0] if hypotheses else None
    score = f"{best.score:.4f}\t" if best and outcome.line.text.strip() else "\t"
    text = (score if layout.scores else "") + (one_line(best.text) if best else "")
    yield text + _links(outcome, 0, layout, " ||| ")


def _tsv(outcome: TranslatedLine, layout: TranslationLayout) -> Iterator[str]:
    source = one_cell(outcome.line.text)
    for rank, hypothesis in enumerate(_hypotheses(outcome)):
        links = _links(outcome, rank, layout, "\t") or "\t" * layout.align
        yield f"{source}\t{one_cell(hypothesis.text)}\t{hypothesis.score:.4f}{links}"
    if outcome.translation is None:
        yield f"{source}\t\t" + "\t" * layout.align


def _jsonl(outcome: TranslatedLine, layout: TranslationLayout) -> Iterator[str]:
    record: dict[str, object] = {
        "source": outcome.line.text,
        "hypotheses": [_record(outcome, rank) for rank in range(len(_hypotheses(outcome)))],
    }
    if layout.read.startswith("hard"):
        record["read"] = layout.read
    if outcome.translation is None:
        record["error"] = outcome.note
    yield as_json_line(record)


WRITERS: dict[str, Callable[[TranslatedLine, TranslationLayout], Iterator[str]]] = {
    "text": _text,
    "tsv": _tsv,
    "jsonl": _jsonl,
}

if TYPE_CHECKING:
    Format = str
else:  # for the command line
    Format = Literal[tuple(WRITERS)]


def _hypotheses(outcome: TranslatedLine) -> tuple[Hypothesis, ...]:
    return outcome.translation.hypotheses if outcome.translation else ()


def _record(outcome: TranslatedLine, rank: int) -> dict[str, object]:
    hypothesis = _hypotheses(outcome)[rank]
    record: dict[str, object] = {
        "text": hypothesis.text,
        "score": hypothesis.score,
        "log_prob": hypothesis.log_prob,
        "tokens": hypothesis.tokens,
        "truncated": hypothesis.truncated,
    }
    if found := repetition(hypothesis.text, outcome.line.text):
        record["repetition"] = {"phrase": found.phrase, "count": found.times}
    if outcome.alignments:
        from attncli.render.alignment.lines import record_of

        pair = outcome.alignments[rank]
        units = {"source": pair.source, "target": pair.target}
        record["alignment"] = {**units, **record_of(pair.panels[0])}
    return record


def _links(outcome: TranslatedLine, rank: int, layout: TranslationLayout, separator: str) -> str:
    """Return the links that follow an aligned output; an empty line stays empty."""
    if not layout.align or not outcome.alignments:
        return ""
    from attncli.render.alignment.lines import linked

    return separator + linked(outcome.alignments[rank].panels[0], 0, probabilities=False)
