"""Alignment of the pairs of a bulk job, as `attn align` aligns them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attncli.bulk.plan.job import BulkJob
from attncli.bulk.tasks import RecordResult, settings_of
from attncli.bulk.tasks.lines import LineTask
from attncli.data.alignments.pairs import pair_of
from attncli.data.lines import Line
from attncli.data.panels import AlignedPair
from attncli.jobs import loading
from attncli.render.alignment.lines import linked
from attncli.render.alignment.writers import FORMATS, Style, written
from attncli.tasks.align.command import align_options, align_settings
from attncli.tasks.align.pairs import align_pairs, aligner_of, empty
from models.base.errors import ConfigurationError

LINKS = "pharaoh"  # format without --format


@dataclass(frozen=True)
class AlignSettings:
    """Parameters of `attn align` that a bulk alignment uses."""

    to: str
    source: str
    format: str | None
    set: Sequence[str] | None


class AlignTask(LineTask[AlignedPair]):
    """A model that aligns the pairs of shards; a second model is the reverse one."""

    doing, shipped = "aligning", "translate"
    fields = 2  # source and target
    into = "links"
    settings_class = AlignSettings
    unused_tables = ("picture",)

    def __init__(self, job: BulkJob) -> None:
        settings = settings_of(AlignSettings, job.settings)
        model, *reverse = (Path(model) for model in job.models)
        given = align_settings(settings.set, reverse=bool(reverse))
        tables = given.tables
        self.format, self.style = settings.format or LINKS, Style(tables.links.probabilities)
        options = align_options(
            tables, settings.source, to=settings.to, device=job.device, threads=job.threads
        )
        self.aligner = aligner_of(
            loading.open_aligner(model, options),
            given.of("align"),
            reverse=loading.open_reverse(reverse[0], options) if reverse else None,
            max_batch_tokens=tables.compute.batch_tokens,
        )

    @staticmethod
    def check(settings: AlignSettings) -> None:
        """Refuse unknown settings, and a format that is one document for all pairs."""
        align_settings(settings.set, reverse=True)
        if FORMATS[settings.format or LINKS].document:
            raise ConfigurationError(
                f"--format {settings.format}, which is one document", "a format of lines"
            )

    def outcomes(self, lines: list[Line]) -> Sequence[AlignedPair]:
        """Return the links of each pair."""
        return align_pairs([pair_of(line) for line in lines], self.aligner)

    def failure(self, line: Line, error: str) -> AlignedPair:
        """Return a pair without links."""
        return empty(pair_of(line))._replace(note=error)

    def result(self, pair: AlignedPair) -> RecordResult:
        """Return the rows and links of a pair."""
        row = written([pair], self.format, self.style)
        if pair.note:
            return RecordResult(row, None, f"pair {pair.number} is {pair.note}; not aligned")
        return RecordResult(row, linked(pair.panels[0], 0, probabilities=False))
