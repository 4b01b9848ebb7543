"""Lines of text, plain or compressed (gz, xz, zst)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from attncli.bulk.inputs import Cut, ShardReading, rows_of
from attncli.bulk.plan.job import BulkJob
from attncli.bulk.plan.shards import Shard
from attncli.bulk.tasks import BulkTask
from attncli.data.compression import decompressed
from attncli.data.lines import Line, decode
from attncli.data.streams import open_input
from attncli.data.text.text_files import byte_lines


class Lines:
    """Text files: a record is a line."""

    def cut(self, paths: Sequence[Path], size: int) -> Iterator[Cut]:
        """Yield the lines of a file, `size` at a time."""
        [path] = paths
        with open_input(path) as stream:
            lines = byte_lines(decompressed(stream, path))
            while group := list(islice(lines, size)):
                yield Cut(len(group), b"".join(group))

    def read(self, shard: Shard, job: BulkJob, task: BulkTask) -> ShardReading:
        """Return the lines of a shard; their results are rows."""
        lines = lines_of(shard)
        return ShardReading(lines, [line.number for line in lines], rows_of)


def lines_of(shard: Shard) -> list[Line]:
    """Return the lines of a shard, with their numbers in the input."""
    lines = byte_lines(iter([shard.content]))
    return [decode(line, number) for number, line in enumerate(lines, shard.first)]
