"""Parquet: one column is the text. Needs pyarrow.

The output has the same columns and rows, with the results in a further column: translation, label
or links; and their errors in a column of that name with `_error`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from attncli.bulk.inputs import Cut, ShardReading
from attncli.bulk.job import BulkJob
from attncli.bulk.shards import Shard
from attncli.bulk.tasks import BulkTask, RecordResult
from attncli.terminal.escapes import one_cell
from models.base.errors import InputError, NotFoundError, unknown_name


class Parquet:
    """Parquet files: a record is a row."""

    def cut(self, paths: Sequence[Path], size: int) -> Iterator[Cut]:
        """Yield the rows of a file, at most `size` at a time."""
        arrow = _pyarrow()
        [path] = paths
        try:
            with arrow.parquet.ParquetFile(path) as file:
                empty = arrow.RecordBatch.from_pylist([], file.schema_arrow)
                for batch in file.iter_batches(size) if file.metadata.num_rows else [empty]:
                    yield Cut(batch.num_rows, _packed([batch]))
        except (OSError, arrow.ArrowInvalid) as error:
            raise InputError(f"{path} cannot be read ({error})", "a Parquet file") from None

    def read(self, shard: Shard, job: BulkJob, task: BulkTask) -> ShardReading:
        """Return the texts of a shard; their results are added as columns."""
        [batch] = _unpacked(shard.content)
        columns = [_texts(batch, name) for name in job.fields]
        if len(columns) > 1:
            rows = zip(*columns, strict=True)
            columns = [["\t".join(map(one_cell, row)) for row in rows]]
        numbers = range(shard.first, shard.first + shard.size)
        records = list(map(task.record, columns[0], numbers))

        def write(results: Sequence[RecordResult]) -> bytes:
            return _packed([_with_results(batch, results, task.into)])

        return ShardReading(records, numbers, write)

    def join(self, bodies: Iterable[bytes], file: BinaryIO) -> None:
        """Write the rows of all parts as one Parquet file."""
        arrow, writer = _pyarrow(), None
        for body in bodies:
            for batch in _unpacked(body):
                writer = writer or arrow.parquet.ParquetWriter(file, batch.schema)
                writer.write_batch(batch)
        if writer:
            writer.close()


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise NotFoundError(
            "--column without pyarrow",
            "the package pyarrow",
            "install it: pip install 'attn[parquet]'",
        ) from None
    return pyarrow


def _packed(batches: Sequence[Any]) -> bytes:
    """Return batches in the Arrow stream format."""
    stream = io.BytesIO()
    with _pyarrow().ipc.new_stream(stream, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return stream.getvalue()


def _unpacked(content: bytes) -> list[Any]:
    with _pyarrow().ipc.open_stream(content) as reader:
        return list(reader)


def _texts(batch: Any, name: str) -> list[str]:
    """Return the texts of a column; a missing value is an empty text."""
    if name not in batch.schema.names:
        raise unknown_name("column", name, batch.schema.names)
    values = batch.column(name).to_pylist()
    if not all(value is None or isinstance(value, str) for value in values):
        raise InputError(f"column {name} has type {batch.schema.field(name).type}", "texts")
    return [value or "" for value in values]


def _with_results(batch: Any, results: Sequence[RecordResult], into: str) -> Any:
    """Return a batch with columns of results and errors; columns of these names are replaced."""
    arrow = _pyarrow()
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns[into] = arrow.array([result.value for result in results], arrow.string())
    columns[f"{into}_error"] = arrow.array([result.error for result in results], arrow.string())
    return arrow.RecordBatch.from_pydict(columns)
