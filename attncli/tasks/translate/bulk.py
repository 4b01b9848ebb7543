"""Translation of the records of a bulk job, as `attn translate` translates lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attncli.bulk.job import BulkJob
from attncli.bulk.tasks import RecordResult
from attncli.bulk.tasks.lines import LineTask
from attncli.data.lines import Line, TranslatedLine
from attncli.jobs.loading import OpenOptions
from attncli.options.overrides import SearchOverrides
from attncli.tasks.translate import engine as engines
from attncli.tasks.translate.line_plans import EVERYDAY, LineOptions
from attncli.tasks.translate.lines import translate_lines
from attncli.tasks.translate.output_checks import OutputReport
from attncli.tasks.translate.writers import TranslationLayout, rendered
from models.config.tables import MAX_BATCH_TOKENS
from models.inference.ctranslate2.engines import ComputePrecision, Engine
from models.text.glossary import Glossary, Term

if TYPE_CHECKING:
    from attncli.tasks.translate.tags import AlignTranslations
    from models.inference.text_translator import TextTranslator


@dataclass(frozen=True)
class TranslateSettings:
    """Settings of a bulk translation; see the options of `attn translate`."""

    to: str = ""
    source: str = ""
    search: Mapping[str, Any] = field(default_factory=dict)  # overrides of the saved settings
    read_mode: str | None = None
    format: str = "text"
    scores: bool = False
    lines: Mapping[str, Any] = field(default_factory=dict)  # changes of EVERYDAY
    keep_tags: bool = False
    glossary: Sequence[Sequence[str]] = ()  # source and target terms
    max_batch_tokens: int = MAX_BATCH_TOKENS
    engine: Engine = "auto"
    precision: ComputePrecision = "fp32"


class TranslateTask(LineTask[TranslatedLine]):
    """Text models that translate the lines of shards."""

    into = "translation"

    def __init__(self, job: BulkJob) -> None:
        settings = TranslateSettings(**job.settings)
        self.translator = _opened(job, settings)
        several = self.translator.search.nbest > 1
        self.layout = TranslationLayout(
            settings.format, several, settings.scores, self.translator.read_mode
        )
        self._translate = partial(
            translate_lines,
            translator=self.translator,
            search=self.translator.search,
            options=_line_options(settings),
            max_batch_tokens=settings.max_batch_tokens,
            aligner=_tag_aligner(self.translator) if settings.keep_tags else None,
        )

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


def _opened(job: BulkJob, settings: TranslateSettings) -> TextTranslator:
    options = OpenOptions(
        job.device,
        job.threads,
        settings.read_mode,
        SearchOverrides(settings.search),
        settings.to,
        settings.source,
    )
    needs = "--keep-tags" if settings.keep_tags else "--glossary" if settings.glossary else ""
    translator = engines.open_text_models(
        [Path(model) for model in job.models],
        options,
        engines.EngineOptions(settings.engine, settings.precision, needs),
    )
    terms = tuple(Term(*term) for term in settings.glossary)
    return translator.with_glossary(Glossary(terms)) if terms else translator


def _line_options(settings: TranslateSettings) -> LineOptions:
    return replace(EVERYDAY, **settings.lines)


def _tag_aligner(translator: Any) -> AlignTranslations:
    """Return the model whose attention places tags: the first of an ensemble."""
    from attncli.tasks.translate.tags import token_weights

    return partial(token_weights, getattr(translator, "members", (translator,))[0])
