"""Rows of several inputs, one on each line of a table with or without a header."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from attncli.bulk.inputs import Cut, ShardReading, rows_of
from attncli.bulk.inputs.lines import Lines, lines_of
from attncli.bulk.plan.job import BulkJob
from attncli.bulk.plan.shards import Shard
from attncli.bulk.tasks import BulkTask
from attncli.data.text.row_lines import as_rows


class TableRows(Lines):
    """Tables: a record is a row. Each shard starts with the first line, which can be a header."""

    def cut(self, paths: Sequence[Path], size: int) -> Iterator[Cut]:
        """Yield the first line and further lines of a table, `size` of these at a time."""
        first = b""
        for cut in super().cut(paths, size):
            first = first or cut.content.partition(b"\n")[0] + b"\n"
            yield Cut(cut.size, first + cut.content)

    def read(self, shard: Shard, job: BulkJob, task: BulkTask) -> ShardReading:
        """Return the rows of a shard in the order of the model's inputs, which are `job.fields`."""
        first, *lines = lines_of(shard._replace(first=shard.first - 1))
        _, *rows = next(as_rows([[first._replace(number=1), *lines]], job.fields))
        return ShardReading(rows, [row.number for row in rows], rows_of)
