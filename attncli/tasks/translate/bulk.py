"""Translation of the records of a bulk job, as `attn translate` translates lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attncli.bulk.job import BulkJob
from attncli.bulk.tasks import RecordResult, settings_of
from attncli.bulk.tasks.lines import LineTask
from attncli.data.lines import Line, TranslatedLine
from attncli.jobs.loading import OpenOptions
from attncli.options.overrides import SearchOverrides
from attncli.options.shared import check_search
from attncli.tasks.translate.command import AUTO
from attncli.tasks.translate.line_plans import LongLines
from attncli.tasks.translate.output.checks import OutputReport
from attncli.tasks.translate.output.writers import Format, TranslationLayout, rendered
from attncli.tasks.translate.run import (
    TranslateWork,
    open_translator,
    target_language,
    translation_of_lines,
)
from models.inference.ctranslate2.engines import ComputePrecision, Engine
from models.text.glossary import Glossary, Term


@dataclass(frozen=True)
class TranslateSettings:
    """Parameters of `attn translate` that a bulk translation uses."""

    to: str
    source: str
    format: Format
    scores: bool
    overrides: SearchOverrides
    hard_decode: str | None
    keep_tags: bool
    glossary: Sequence[Sequence[str]] | None  # source and target terms, which were read before
    long: LongLines
    normalise: bool
    copy: bool
    capitals: bool
    max_batch_tokens: int
    engine: Engine
    precision: ComputePrecision


class TranslateTask(LineTask[TranslatedLine]):
    """Text models that translate the lines of shards."""

    into = "translation"
    settings_class = TranslateSettings

    def __init__(self, job: BulkJob) -> None:
        settings = settings_of(TranslateSettings, job.settings)
        work = _work(job, settings)
        translator = open_translator(work, document=None, aligned=False)
        several = translator.search.nbest > 1
        self.layout = TranslationLayout(
            settings.format, several, settings.scores, translator.read_mode
        )
        target = target_language(translator, work.options) if settings.source == AUTO else None
        self._translate = translation_of_lines(work, translator, target, is_document=False)

    @staticmethod
    def check(settings: TranslateSettings) -> None:
        """Refuse search settings that do not agree."""
        check_search(settings.overrides)

    def outcomes(self, lines: list[Line]) -> Sequence[TranslatedLine]:
        """Return the translation of each line."""
        [outcomes] = self._translate([lines])
        return outcomes

    def failure(self, line: Line, error: str) -> TranslatedLine:
        """Return a line without a translation."""
        return TranslatedLine(line, None, error)

    def result(self, outcome: TranslatedLine) -> RecordResult:
        """Return the rows, translation and warnings of a line."""
        row, found = rendered([outcome], self.layout), outcome.translation
        if found is None:
            return RecordResult(row, None, outcome.note)
        notes = (outcome.note, *OutputReport().messages([outcome]))
        return RecordResult(row, found.text, warnings=tuple(filter(None, notes)))


def _work(job: BulkJob, settings: TranslateSettings) -> TranslateWork:
    terms = tuple(Term(*term) for term in settings.glossary or ())
    options = OpenOptions(
        job.device,
        job.threads,
        settings.hard_decode,
        settings.overrides,
        settings.to,
        "" if settings.source == AUTO else settings.source,
    )
    lines = {name: getattr(settings, name) for name in ("normalise", "copy", "capitals")}
    return TranslateWork(
        [Path(model) for model in job.models],
        options,
        settings.engine,
        settings.precision,
        {"long_lines": settings.long, **lines},
        settings.max_batch_tokens,
        settings.keep_tags,
        Glossary(terms) if terms else None,
    )
