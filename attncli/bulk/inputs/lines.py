"""Lines of text, plain or compressed (gz, xz, zst)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from attncli.bulk.inputs import Cut, ShardReading
from attncli.bulk.job import BulkJob
from attncli.bulk.shards import Shard
from attncli.data.compression import decompressed
from attncli.data.corpus import byte_lines
from attncli.data.lines import decode
from attncli.data.streams import open_input


class Lines:
    """Text files: a record is a line."""

    def cut(self, paths: Sequence[Path], size: int) -> Iterator[Cut]:
        """Yield the lines of a file, `size` at a time."""
        [path] = paths
        with open_input(path) as stream:
            lines = byte_lines(decompressed(stream, path))
            while group := list(islice(lines, size)):
                yield Cut(len(group), b"".join(group))

    def read(self, shard: Shard, job: BulkJob, name: str) -> ShardReading:
        """Return the lines of a shard; their results are rows."""
        lines = byte_lines(iter([shard.content]))
        records = [decode(line, number) for number, line in enumerate(lines, shard.first)]
        return ShardReading(records, lambda results: b"".join(result.row for result in results))

    def join(self, bodies: Iterable[bytes], file: BinaryIO) -> None:
        """Write the rows of all parts."""
        file.writelines(bodies)
