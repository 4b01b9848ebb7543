"""Make what is to be scored: read the test set, and have a model translate it."""

from __future__ import annotations

import time
from collections.abc import Sequence
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
    """Translate a test set. advance: receives the number of sentences translated so far."""
    start = time.perf_counter()

    def report(done: int) -> None:
        advance(done, f"{done:,} sentences, {done / (time.perf_counter() - start):,.1f}/s")

    [outcomes] = translate_lines(
        [[Line(number, source) for number, source in enumerate(sources, 1)]],
        translator,
        search=search,
        max_batch_tokens=max_batch_tokens,
        on_batch=report,
    )
    hypotheses = [_one_line(each.translation.text) if each.translation else "" for each in outcomes]
    notes = tuple(each.note for each in outcomes if each.note)
    return System(name, hypotheses, time.perf_counter() - start, notes)


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")
