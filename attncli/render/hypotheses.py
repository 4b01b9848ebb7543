"""Translations as text, TSV or JSON lines: one writer for each format.

- ``text``: the best output of each line; with scores, the score and a tab before it. With
  ``--nbest`` above 1, the n-best lists of Moses: ``index ||| output ||| score``, index from 0.
- ``tsv``: source, output and score of each output.
- ``jsonl``: an object for each line: source, hypotheses with text, score, log_prob and pieces,
  how the memory was read if the attention is hard, and an error where the line could not be
  translated.

The score is what the search sorts by; log_prob the natural logarithm of the probability. A line
break or a tab inside an output or a source (a model that spells with bytes can write anything)
becomes a space where it would break the format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from attncli.data.lines import Outcome
from models.types import Hypothesis

Format = Literal["text", "tsv", "jsonl"]


class Layout(NamedTuple):
    """How outcomes are written."""

    format: Format = "text"
    nbest: bool = False  # whether a line may have more than one output
    scores: bool = False  # whether plain text has scores
    read: str = ""  # how the model read its memory


def rendered(outcomes: list[Outcome], layout: Layout) -> bytes:
    """The rows of some outcomes, each with the line ending of its source, as UTF-8."""
    write = WRITERS[layout.format]
    rows = [row + outcome.line.ending for outcome in outcomes for row in write(outcome, layout)]
    return "".join(rows).encode("utf-8", "replace")


def _text(outcome: Outcome, layout: Layout) -> Iterator[str]:
    hypotheses = _hypotheses(outcome)
    if layout.nbest:
        index = outcome.line.number - 1
        for hypothesis in hypotheses:
            yield f"{index} ||| {_one_line(hypothesis.text)} ||| {hypothesis.score:.4f}"
        if not hypotheses:
            yield f"{index} |||  ||| "
        return
    best = hypotheses[0] if hypotheses else None
    score = f"{best.score:.4f}\t" if best and outcome.line.text.strip() else "\t"
    yield (score if layout.scores else "") + (_one_line(best.text) if best else "")


def _tsv(outcome: Outcome, layout: Layout) -> Iterator[str]:
    source = _one_cell(outcome.line.text)
    for hypothesis in _hypotheses(outcome):
        yield f"{source}\t{_one_cell(hypothesis.text)}\t{hypothesis.score:.4f}"
    if outcome.translation is None:
        yield f"{source}\t\t"


def _jsonl(outcome: Outcome, layout: Layout) -> Iterator[str]:
    record: dict[str, object] = {
        "source": outcome.line.text,
        "hypotheses": [_record(hypothesis) for hypothesis in _hypotheses(outcome)],
    }
    if layout.read.startswith("hard"):
        record["read"] = layout.read
    if outcome.translation is None:
        record["error"] = outcome.note
    row = json.dumps(record, ensure_ascii=False)
    for mark in "\x85\u2028\u2029":  # line ends to some readers of JSON lines
        row = row.replace(mark, f"\\u{ord(mark):04x}")
    yield row


WRITERS: dict[str, Callable[[Outcome, Layout], Iterator[str]]] = {
    "text": _text,
    "tsv": _tsv,
    "jsonl": _jsonl,
}


def _hypotheses(outcome: Outcome) -> tuple[Hypothesis, ...]:
    return outcome.translation.hypotheses if outcome.translation else ()


def _record(hypothesis: Hypothesis) -> dict[str, object]:
    return {
        "text": hypothesis.text,
        "score": hypothesis.score,
        "log_prob": hypothesis.log_prob,
        "pieces": hypothesis.pieces,
    }


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")


def _one_cell(text: str) -> str:
    return _one_line(text).replace("\t", " ")
