"""Log-probabilities of given outputs (`attn translate --score`), and lines with their own prefixes.

A line of the input is a source and an output, between a tab or ` ||| `.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from attncli.data.corpus import PairLine, pair_of
from attncli.data.lines import input_chunks
from attncli.data.streams import as_json_line
from attncli.faithful.result import Line
from attncli.task.runner import JsonObject
from attncli.terminal.messages import one_cell
from models.core.errors import ConfigurationError

if TYPE_CHECKING:
    from attncli.translate.runner import TranslateRunner

TOKENS = 4096  # of a batch, padding included


class PairScore(NamedTuple):
    """A source and an output with its log-probability."""

    pair: PairLine
    log_prob: float | None = None  # natural logarithm, end mark included
    score: float | None = None  # log-probability over the length penalty, as of an output
    note: str = ""


def pair_scores(runner: TranslateRunner, chunks: Iterable[list[Line]]) -> Iterator[list[PairScore]]:
    """Yield the scores of the pairs of each chunk of lines, by teacher forcing in torch.

    Raises ConfigurationError for several models, whose probabilities have no common logarithm here.
    """
    import torch

    from models.alignment.weights import batched, encode, why_unaligned
    from models.search.batching import pad_pairs
    from models.search.hypotheses import Finished

    if len(runner.in_torch) > 1:
        raise ConfigurationError("--score with several models", "one -m")
    [model] = runner.in_torch
    for chunk in chunks:
        pairs = [pair_of(line) for line in chunk]
        encoded = [encode(model, pair.source, pair.target) for pair in pairs]
        found = [PairScore(pair, note=_note(pair)) for pair in pairs]
        for numbers in batched(model, encoded, TOKENS):
            some = [encoded[n] for n in numbers]
            sides = [one.source for one in some], [one.target for one in some]
            batch = pad_pairs(*sides, model.device)
            with torch.inference_mode():
                log_probs = model.model.target_log_probs(batch).masked_fill(~batch.target_mask, 0)
            for n, total in zip(numbers, log_probs.double().sum(1).tolist(), strict=True):
                one = Finished.scored(encoded[n].target[:-1], total, model.search)
                found[n] = found[n]._replace(log_prob=one.log_prob, score=one.score)
        for n, pair in enumerate(pairs):
            reason = why_unaligned(model, encoded[n])
            if found[n].log_prob is None and not found[n].note and (pair.source or pair.target):
                found[n] = found[n]._replace(note=f"line {pair.number} has {reason}; no score")
        yield found


def _note(pair: PairLine) -> str:
    return f"line {pair.number} is {pair.fault}; no score" if pair.fault else ""


def score_row(found: PairScore, format: str) -> str:
    """Return the row of a score: the number alone, columns, or JSON."""
    pair, shown = found.pair, "" if found.log_prob is None else f"{found.log_prob:.4f}"
    if format == "text":
        return shown
    if format == "tsv":
        return "\t".join([one_cell(pair.source), one_cell(pair.target), shown])
    record: JsonObject = {"source": pair.source, "target": pair.target}
    record |= {"log_prob": found.log_prob, "score": found.score}
    return as_json_line(record | ({"error": found.note} if found.note else {}))


def reader_of(column: str) -> Callable[[BinaryIO], Iterator[list[Line]]]:
    """Return what reads lines with prefixes.

    column: number of the column of prefixes, from 2, behind a tab; the first one is the text. Or a
    key of JSON lines: objects with source, this key, and perhaps look, a text or a list of texts.
    Raises ConfigurationError for column 0 or 1.
    """
    if column.isdecimal() and int(column) < 2:
        raise ConfigurationError(f"--prefix-column {column}", "2 or more, because the text is 1")

    def read(stream: BinaryIO) -> Iterator[list[Line]]:
        for chunk in input_chunks(stream):
            yield [_with_prefix(line, column) for line in chunk]

    return read


def _with_prefix(line: Line, column: str) -> Line:
    if line.fault or not line.text.strip():
        return line
    if column.isdecimal():
        cells = line.text.split("\t")
        if len(cells) < int(column):
            return line._replace(fault=f"without a column {column}")
        return line._replace(text=cells[0], prefix=cells[int(column) - 1])
    try:
        row = json.loads(line.text)
        text, prefix, look = row["source"], row.get(column, ""), row.get("look", [])
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return line._replace(fault=f"no JSON object with source and {column}")
    looks = _texts(look)
    if not isinstance(text, str) or not isinstance(prefix, str) or looks is None:
        return line._replace(fault=f"no JSON object whose source, {column} and look are texts")
    return line._replace(text=text, prefix=prefix, looks=looks)


def _texts(value: object) -> tuple[str, ...] | None:
    """Return one text or several; None for another value."""
    texts: object = [value] if isinstance(value, (str, int)) else value
    if not isinstance(texts, list) or not all(isinstance(one, (str, int)) for one in texts):
        return None
    return tuple(map(str, texts))
