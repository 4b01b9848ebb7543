"""A bulk job as data: task, models and settings, shards of the input, and their results.

These travel between processes and machines: a job as JSON, a shard and its part as a line of JSON
and their content.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from attncli.version import __version__
from models.storage.digests import file_digest
from models.storage.settings import NAME as CONFIG
from models.storage.settings import WEIGHTS, Shared, read_settings
from models.text.labels import read_tokenizer

DIGEST = 32  # characters of a digest in a name


@dataclass(frozen=True)
class BulkJob:
    """Everything that a worker needs in order to process shards."""

    task: str  # a task of attncli.tasks.table
    models: Sequence[str]  # folders, which every worker reads
    settings: Mapping[str, Any] = field(default_factory=dict)  # parameters of the task's command
    device: str = "auto"
    threads: int = 1  # of a worker
    input: str = "lines"  # a key of attncli.bulk.inputs.INPUTS
    fields: Sequence[str] = ()  # of JSON lines: the text; to align: both; of rows: the inputs

    def to_json(self) -> str:
        """Return the job as one line."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> BulkJob:
        """Return the job that `to_json` wrote."""
        return cls(**json.loads(text))

    def digest(self) -> str:
        """Return a digest of all that determines the results: models, settings, version of attn.

        Device, threads and the place of a model do not count.
        """
        facts = {
            **dataclasses.asdict(self),
            "models": [model_digest(Path(model)) for model in self.models],
            "version": __version__,
        }
        del facts["device"], facts["threads"]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:DIGEST]


def model_digest(folder: Path) -> str:
    """Return a digest of the files that a model in use consists of."""
    shared = read_settings(folder).get("shared")
    names = [CONFIG, WEIGHTS, *read_tokenizer(folder).files()]
    names += [Shared(**shared).file] if shared else []
    digests = "".join(f"{name} {file_digest(folder / name)}\n" for name in names)
    return hashlib.sha256(digests.encode()).hexdigest()


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
