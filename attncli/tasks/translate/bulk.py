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
from attncli.tasks.translate.command import TranslateTables, translate_options
from attncli.tasks.translate.runner import TranslateRunner
from attncli.tasks.translate.writers import OutputReport, rendered
from models.text.languages import Glossary, Term

GIVEN = ("to", "source", "precision", "verbatim", "keep_tags")  # options of the job


class TranslateTask(BulkTask):
    """Text models that translate the lines of shards."""

    doing, shipped = "translating", "translate"
    into, documents = "translation", "attn translate -i"
    unused_tables = ("input", "picture", "align")

    def __init__(self, job: BulkJob) -> None:
        settings, terms = job.settings, job.settings["glossary"] or ()
        self.runner = TranslateRunner.open(
            [Path(model) for model in job.models],
            translate_options(
                self.given(settings),
                device=job.device,
                threads=job.threads,
                glossary=Glossary(tuple(Term(*term) for term in terms)) if terms else None,
                **{name: settings[name] for name in GIVEN},
            ),
        )
        translator = self.runner.translator
        several = translator.search.nbest > 1
        self.layout = RowLayout(
            settings["format"], several, settings["scores"], translator.read_mode
        )

    @staticmethod
    def given(settings: Mapping[str, Any]) -> GivenSettings[TranslateTables]:
        """Return the settings; refuse those that do not agree."""
        set, beam, nbest = (settings[name] for name in ("set", "beam", "nbest"))
        return search_settings(TranslateTables, set, beam, nbest)

    def run(self, records: Sequence[Line]) -> list[RecordResult]:
        """Return the rows, translation and warnings of each line."""
        [outcomes] = self.runner.run([list(records)])
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
