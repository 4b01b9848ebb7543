"""Finished parts of a bulk job on disk, and its state: OUT.bulk/.

    parts/NAME       results of a shard: SHA-256 of the rest (32 bytes), then the part
    errors.jsonl     records without a result: file, record (from 1), error
    warnings.jsonl   remarks about records: file, record, warning
    job.json         the finished job: digest of its parts, digests of its outputs, counts
    .lock            locked while a job runs

The name of a part is a digest of the content of its shard, of models and settings, and of the
number of its first record, which some output formats contain. A part is written completely or not
at all. A damaged part counts as missing.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from attncli.bulk.plan.job import DIGEST
from attncli.bulk.plan.shards import Part, Shard
from models.base.files import write_bytes

SUFFIX = ".bulk"


def state_folder(out: Path) -> Path:
    """Return the folder with the state of the job that writes an output."""
    return out.with_name(out.name + SUFFIX)


def part_name(job_digest: str, shard: Shard) -> str:
    """Return the name of the part of a shard."""
    digest = hashlib.sha256(f"{job_digest} {shard.first} {shard.size}\n".encode())
    digest.update(shard.content)
    return digest.hexdigest()[:DIGEST]


class PartFolder:
    """The folder of finished parts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, part: Part) -> None:
        """Store a part. Raises ResourceError if it cannot be written."""
        content = part.to_bytes()
        write_bytes(self.folder / name, hashlib.sha256(content).digest() + content)

    def read(self, name: str) -> Part | None:
        """Return a part; None if it is missing or damaged."""
        try:
            stored = (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None
        size = hashlib.sha256().digest_size
        digest, content = stored[:size], stored[size:]
        return Part.from_bytes(content) if hashlib.sha256(content).digest() == digest else None
