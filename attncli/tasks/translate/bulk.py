"""Translation of the records of a bulk job, as `attn translate` translates lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attncli.bulk.job import BulkJob
from attncli.bulk.tasks import BulkTask, RecordResult
from attncli.data.lines import Line, TranslatedLine
from attncli.options.settings import GivenSettings
from attncli.options.shared import search_settings
from attncli.render.rows import RowLayout
from attncli.tasks.translate.command import AUTO, translate_options
from attncli.tasks.translate.run import (
    TranslateTables,
    TranslateWork,
    line_languages,
    open_translator,
    translation_of_lines,
)
from attncli.tasks.translate.writers import OutputReport, rendered
from models.text.glossary import Glossary, Term


class TranslateTask(BulkTask):
    """Text models that translate the lines of shards."""

    doing, shipped = "translating", "translate"
    into, documents = "translation", "attn translate -i"
    unused_tables = ("input", "picture", "align")

    def __init__(self, job: BulkJob) -> None:
        settings, work = job.settings, self._work(job)
        translator = open_translator(work, document=None, aligned=False)
        several = translator.search.nbest > 1
        self.layout = RowLayout(
            settings["format"], several, settings["scores"], translator.read_mode
        )
        recognises = settings["source"] == AUTO
        languages = line_languages(translator, work.options) if recognises else None
        self._translate = translation_of_lines(work, translator, languages, is_document=False)

    @staticmethod
    def given(settings: Mapping[str, Any]) -> GivenSettings[TranslateTables]:
        """Return the settings; refuse those that do not agree."""
        set, beam, nbest = (settings[name] for name in ("set", "beam", "nbest"))
        return search_settings(TranslateTables, set, beam, nbest)

    def run(self, records: Sequence[Line]) -> list[RecordResult]:
        """Return the rows, translation and warnings of each line."""
        [outcomes] = self._translate([list(records)])
        return [self._result(outcome) for outcome in outcomes]

    def failed(self, record: Line, error: str) -> RecordResult:
        """Return the row of a line without a translation."""
        return self._result(TranslatedLine(record, None, error))

    def _result(self, outcome: TranslatedLine) -> RecordResult:
        row, found = rendered([outcome], self.layout), outcome.translation
        if found is None:
            return RecordResult(row, None, outcome.note)
        notes = (outcome.note, *OutputReport().messages([outcome]))
        return RecordResult(row, found.text, warnings=tuple(filter(None, notes)))

    def _work(self, job: BulkJob) -> TranslateWork:
        settings, given = job.settings, self.given(job.settings)
        languages = {"source": settings["source"], "to": settings["to"]}
        terms = tuple(Term(*term) for term in settings["glossary"] or ())
        return TranslateWork(
            [Path(model) for model in job.models],
            translate_options(given, **languages, device=job.device, threads=job.threads),
            given.tables,
            settings["precision"],
            verbatim=settings["verbatim"],
            keep_tags=settings["keep_tags"],
            glossary=Glossary(terms) if terms else None,
        )
