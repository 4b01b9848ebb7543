"""Make what is to be scored: read the test set, and have a model translate it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from attncli.console import Progress
from attncli.data.corpus import aligned, open_text, read_pairs
from attncli.data.lines import Line
from attncli.jobs.translate import Translates, translate_lines
from attncli.scoring.translations import EvaluationSet, System
from models.config import MAX_BATCH_TOKENS, SearchConfig
from models.errors import ModelError


def read_test_set(files: Sequence[Path]) -> EvaluationSet:
    """Source and references, from files of their own or a table."""
    pairs = list(read_pairs(files))
    references = zip(*(pair.references for pair in pairs), strict=True)
    return EvaluationSet([pair.source for pair in pairs], [list(texts) for texts in references])


def read_references(files: Sequence[Path], source: Path | None = None) -> EvaluationSet:
    """References, and the source if there is a file of it."""
    rows = list(aligned([*filter(None, [source]), *files]))
    columns = [list(column) for column in zip(*rows, strict=True)]
    return EvaluationSet(columns[0], columns[1:]) if source else EvaluationSet([], columns)


def read_system(path: Path, test_set: EvaluationSet) -> System:
    """Outputs that another program made."""
    with open_text(path) as lines:
        hypotheses = list(lines)
    wanted = len(test_set.references[0])
    if len(hypotheses) != wanted:
        raise ModelError(f"{path} has {len(hypotheses):,} lines", f"{wanted:,}, as the references")
    return System(path.name, hypotheses)


def translate_test_set(
    name: str,
    sources: Sequence[str],
    translator: Translates,
    *,
    search: SearchConfig,
    max_batch_tokens: int = MAX_BATCH_TOKENS,
    advance: Progress = lambda done, note="": None,
) -> System:
    """The outputs of a model, longest source first, so that a lack of memory shows at once."""
    start, done, count = time.perf_counter(), 0, 0
    hypotheses, notes = [""] * len(sources), []
    for chunk, size in _chunks(sources, translator, max_batch_tokens):
        [outcomes] = translate_lines(
            [chunk], translator, search=search, max_batch_tokens=max_batch_tokens
        )
        for line, translation, note, *_ in outcomes:
            hypotheses[line.number - 1] = _one_line(translation.text) if translation else ""
            notes += [note] if note else []
        done, count = done + size, count + len(chunk)
        rate = count / (time.perf_counter() - start)
        advance(done, f"{count:,} sentences, {rate:,.1f}/s")
    return System(name, hypotheses, time.perf_counter() - start, tuple(notes))


def _chunks(
    sources: Sequence[str], translator: Translates, max_batch_tokens: int
) -> Iterator[tuple[list[Line], int]]:
    """One batch of lines after another, and its size in pieces."""
    sizes = [translator.source_length(source) for source in sources]
    chunk: list[Line] = []
    widest = total = 0
    for row in sorted(range(len(sources)), key=lambda row: -sizes[row]):
        if chunk and (len(chunk) + 1) * widest > max_batch_tokens:
            yield chunk, total
            chunk, total = [], 0
        widest = max(1, sizes[row]) if not chunk else widest
        chunk.append(Line(row + 1, sources[row]))
        total += sizes[row]
    yield chunk, total


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")
