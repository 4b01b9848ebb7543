"""Lines of text and rows of tables, plain or compressed (gz, xz, zst)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from attncli.bulk.inputs import ShardReading, rows_of
from attncli.bulk.plan.job import BulkJob
from attncli.bulk.plan.shards import Shard
from attncli.bulk.tasks import BulkTask
from attncli.data.compression import decompressed
from attncli.data.lines import Line, decode
from attncli.data.streams import open_input
from attncli.data.text.rows import as_rows
from attncli.data.text.text_files import byte_lines


class Lines:
    """Text files: a record is a line."""

    def cut(self, paths: Sequence[Path], size: int) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of a file, `size` at a time."""
        [path] = paths
        with open_input(path) as stream:
            lines = byte_lines(decompressed(stream, path))
            while group := list(islice(lines, size)):
                yield len(group), b"".join(group)

    def read(self, shard: Shard, job: BulkJob, task: BulkTask) -> ShardReading:
        """Return the lines of a shard; their results are rows."""
        lines = lines_of(shard)
        return ShardReading(lines, [line.number for line in lines], rows_of)


class TableRows(Lines):
    """Tables: a record is a row. Each shard starts with the first line, which can be a header."""

    def cut(self, paths: Sequence[Path], size: int) -> Iterator[tuple[int, bytes]]:
        """Yield the first line and further lines of a table, `size` of these at a time."""
        first = b""
        for count, content in super().cut(paths, size):
            first = first or content.partition(b"\n")[0] + b"\n"
            yield count, first + content

    def read(self, shard: Shard, job: BulkJob, task: BulkTask) -> ShardReading:
        """Return the rows of a shard in the order of the model's inputs, which are `job.fields`."""
        first, *lines = lines_of(shard._replace(first=shard.first - 1))
        _, *rows = next(as_rows([[first._replace(number=1), *lines]], job.fields))
        return ShardReading(rows, [row.number for row in rows], rows_of)


def lines_of(shard: Shard) -> list[Line]:
    """Return the lines of a shard, with their numbers in the input."""
    lines = byte_lines(iter([shard.content]))
    return [decode(line, number) for number, line in enumerate(lines, shard.first)]
