"""Kinds of input of `attn bulk`: one file each, which cuts shards and writes their results.

A kind cuts an input into shards where the job is started, and reads a shard where it is processed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple, Protocol

from attncli.bulk.plan.job import BulkJob
from attncli.bulk.plan.shards import RecordNote, Shard
from attncli.bulk.tasks import BulkTask, RecordResult

INPUTS = {  # name: module:class
    "lines": "attncli.bulk.inputs.lines:Lines",
    "rows": "attncli.bulk.inputs.lines:TableRows",
    "jsonl": "attncli.bulk.inputs.json_objects:JsonObjects",
    "images": "attncli.bulk.inputs.images:Images",
}


class ShardReading(NamedTuple):
    """The records of a shard, and how their results are written."""

    records: Sequence[Any]  # as the task takes them
    numbers: Sequence[int]  # of the records in the input, from 1
    write: Callable[[Sequence[RecordResult]], bytes]  # from the results to the body of the part
    faults: tuple[RecordNote, ...] = ()  # records that could not be read


class InputKind(Protocol):
    """A kind of input."""

    def cut(self, paths: Sequence[Path], size: int) -> Iterator[tuple[int, bytes]]:
        """Yield number of records (at most `size`) and content of each shard of an input."""

    def read(self, shard: Shard, job: BulkJob, task: BulkTask) -> ShardReading:
        """Return the records of a shard, as the task takes them."""


def input_kind(name: str) -> InputKind:
    """Return a kind of input by its name."""
    return resolve_name(INPUTS[name])()


def rows_of(results: Sequence[RecordResult]) -> bytes:
    """Return the rows of results in the output format of their task."""
    return b"".join(result.row for result in results)
