"""Alignment of the pairs of a bulk job, as `attn align` aligns them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attncli.bulk.job import BulkJob
from attncli.bulk.tasks import RecordResult
from attncli.bulk.tasks.lines import LineTask
from attncli.data.alignments.pairs import pair_of
from attncli.data.lines import Line
from attncli.data.panels import AlignedPair
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions
from attncli.options.overrides import AlignOverrides
from attncli.render.alignment.lines import linked
from attncli.render.alignment.writers import Style, written
from attncli.tasks.align.pairs import align_chunks, aligner_of, empty
from models.config.tables import MAX_BATCH_TOKENS


@dataclass(frozen=True)
class AlignSettings:
    """Settings of a bulk alignment; see the options of `attn align`."""

    to: str = ""
    source: str = ""
    align: Mapping[str, Any] = field(default_factory=dict)  # overrides of the saved settings
    read_mode: str | None = None
    format: str = "pharaoh"
    probabilities: bool = False
    max_batch_tokens: int = MAX_BATCH_TOKENS


class AlignTask(LineTask[AlignedPair]):
    """A model that aligns the pairs of shards; a second model is the reverse one."""

    into = "links"

    def __init__(self, job: BulkJob) -> None:
        self.settings = settings = AlignSettings(**job.settings)
        options = OpenOptions(
            job.device, job.threads, settings.read_mode, to=settings.to, source=settings.source
        )
        model, *reverse = (Path(model) for model in job.models)
        self.aligner = aligner_of(
            loading.open_aligner(model, options),
            AlignOverrides(settings.align),
            reverse=loading.open_reverse(reverse[0], options) if reverse else None,
            max_batch_tokens=settings.max_batch_tokens,
        )

    def outcomes(self, lines: list[Line]) -> Sequence[AlignedPair]:
        """Return the links of each pair."""
        [pairs] = align_chunks([[pair_of(line) for line in lines]], self.aligner)
        return pairs

    def failure(self, line: Line, error: str) -> AlignedPair:
        """Return a pair without links."""
        return empty(pair_of(line))._replace(note=error)

    def result(self, pair: AlignedPair) -> RecordResult:
        """Return the rows and links of a pair."""
        style = Style(probabilities=self.settings.probabilities)
        row = written([pair], self.settings.format, style)
        if pair.note:
            return RecordResult(row, None, f"pair {pair.number} is {pair.note}; not aligned")
        return RecordResult(row, linked(pair.panels[0], 0, probabilities=False))
