"""Shards of a bulk job and their results, as they travel between processes and machines.

As bytes, both are a line of JSON and their content.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple


class Shard(NamedTuple):
    """Consecutive records of one input."""

    number: int  # over all inputs, from 0
    first: int  # number of its first record in the input, from 1
    size: int  # records
    content: bytes  # of the records, as the input format writes them

    def to_bytes(self) -> bytes:
        """Return the shard as bytes."""
        return _packed(self[:3], self.content)

    @classmethod
    def from_bytes(cls, data: bytes) -> Shard:
        """Return the shard that `to_bytes` wrote."""
        [number, first, size], content = _unpacked(data)
        return cls(number, first, size, content)


class RecordNote(NamedTuple):
    """An error or a warning about one record."""

    record: int  # number in the input, from 1
    kind: str  # error: the record has no result; or warning
    text: str


class Part(NamedTuple):
    """Results of a shard."""

    number: int  # of the shard
    size: int  # records
    notes: tuple[RecordNote, ...]
    body: bytes  # what the shard adds to the output, one after another

    def to_bytes(self) -> bytes:
        """Return the part as bytes."""
        return _packed(self[:3], self.body)

    @classmethod
    def from_bytes(cls, data: bytes) -> Part:
        """Return the part that `to_bytes` wrote."""
        [number, size, notes], body = _unpacked(data)
        return cls(number, size, tuple(RecordNote(*note) for note in notes), body)


def _packed(head: Sequence[object], content: bytes) -> bytes:
    return json.dumps(head).encode() + b"\n" + content


def _unpacked(data: bytes) -> tuple[list[Any], bytes]:
    head, _, content = data.partition(b"\n")
    return json.loads(head), content
