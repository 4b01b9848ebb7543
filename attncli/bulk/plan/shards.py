"""Shards of a bulk job and their results, as they travel between processes and machines."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Shard(NamedTuple):
    """Consecutive records of one input."""

    number: int  # over all inputs, from 0
    first: int  # number of its first record in the input, from 1
    size: int  # records
    content: bytes  # of the records, as the input format writes them


class RecordNote(NamedTuple):
    """An error or a warning about one record."""

    record: int  # number in the input, from 1
    text: str


class Part(NamedTuple):
    """Results of a shard."""

    number: int  # of the shard
    size: int  # records
    body: bytes  # what the shard adds to the output, one after another
    errors: tuple[RecordNote, ...] = ()  # records without a result
    warnings: tuple[RecordNote, ...] = ()


def shard_to_bytes(shard: Shard) -> bytes:
    """Return a shard as a line of JSON and its content."""
    return _packed(shard.content, number=shard.number, first=shard.first, size=shard.size)


def shard_from_bytes(data: bytes) -> Shard:
    """Return the shard that `shard_to_bytes` wrote."""
    head, content = _unpacked(data)
    return Shard(head["number"], head["first"], head["size"], content)


def part_to_bytes(part: Part) -> bytes:
    """Return a part as a line of JSON and its body."""
    return _packed(
        part.body, number=part.number, size=part.size, errors=part.errors, warnings=part.warnings
    )


def part_from_bytes(data: bytes) -> Part:
    """Return the part that `part_to_bytes` wrote; ValueError or KeyError for other bytes."""
    head, body = _unpacked(data)
    errors, warnings = (
        tuple(RecordNote(record, text) for record, text in head[name])
        for name in ("errors", "warnings")
    )
    return Part(head["number"], head["size"], body, errors, warnings)


def _packed(content: bytes, **head: object) -> bytes:
    return json.dumps(head).encode() + b"\n" + content


def _unpacked(data: bytes) -> tuple[dict[str, Any], bytes]:
    head, _, content = data.partition(b"\n")
    return json.loads(head), content
