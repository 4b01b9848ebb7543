"""Alignment of the pairs of a bulk job, as `attn align` aligns them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attncli.bulk.job import BulkJob
from attncli.bulk.tasks import BulkTask, RecordResult
from attncli.data.lines import Line
from attncli.data.panels import AlignedPair
from attncli.data.text.corpus import pair_of
from attncli.options.settings import GivenSettings
from attncli.render.alignment.data import linked
from attncli.render.alignment.writers import FORMATS, Style, written
from attncli.tasks.align.command import AlignTables, align_options, align_settings
from attncli.tasks.align.pairs import AlignRunner, empty
from models.base.errors import ConfigurationError

LINKS = "pharaoh"  # format without --format


class AlignTask(BulkTask):
    """A model that aligns the pairs of shards; a second model is the reverse one."""

    doing, shipped = "aligning", "translate"
    fields = 2  # source and target
    into = "links"
    unused_tables = ("picture",)

    def __init__(self, job: BulkJob) -> None:
        settings = job.settings
        model, *reverse = (Path(model) for model in job.models)
        given = self.given(settings, reverse=bool(reverse))
        tables = given.tables
        self.format, self.style = settings["format"] or LINKS, Style(tables.links.probabilities)
        options = align_options(
            given,
            reverse=next(iter(reverse), None),
            scored=FORMATS[self.format].scores,
            to=settings["to"],
            source=settings["source"],
            device=job.device,
            threads=job.threads,
        )
        self.runner = AlignRunner.open([model], options)

    @staticmethod
    def given(settings: Mapping[str, Any], *, reverse: bool = True) -> GivenSettings[AlignTables]:
        """Return the settings; refuse a format that is one document for all pairs."""
        if FORMATS[settings["format"] or LINKS].document:
            raise ConfigurationError(
                f"--format {settings['format']}, which is one document", "a format of lines"
            )
        return align_settings(settings["set"], reverse=reverse)

    def run(self, records: Sequence[Line]) -> list[RecordResult]:
        """Return the rows and links of each pair."""
        [pairs] = self.runner.run([[pair_of(line) for line in records]])
        return [self._result(pair) for pair in pairs]

    def failed(self, record: Line, error: str) -> RecordResult:
        """Return the row of a pair without links."""
        return self._result(empty(pair_of(record))._replace(note=error))

    def _result(self, pair: AlignedPair) -> RecordResult:
        row = written([pair], self.format, self.style)
        if pair.note:
            return RecordResult(row, None, f"pair {pair.number} is {pair.note}; not aligned")
        return RecordResult(row, linked(pair.panels[0], 0, probabilities=False))
