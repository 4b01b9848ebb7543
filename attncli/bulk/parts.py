"""Finished parts of a bulk job on disk, its state, and the outputs made of them: OUT.bulk/.

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
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from attncli.bulk.job import DIGEST, Part, Shard
from attncli.bulk.sources import BulkSource
from attncli.data.json import as_json_line
from models.base.errors import DamagedError
from models.base.files import replacing, write_bytes, write_errors

SUFFIX = ".bulk"
ERRORS, WARNINGS = "errors.jsonl", "warnings.jsonl"


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


class JoinedCounts(NamedTuple):
    """Records of a finished job."""

    records: int
    errors: int
    warnings: int


def join_parts(
    sources: Sequence[BulkSource], names: Sequence[Sequence[str]], parts: PartFolder, state: Path
) -> JoinedCounts:
    """Write the output of each input from its parts, and the notes of all records.

    names: of the parts of each input, in order. Raises ResourceError if a file cannot be written,
    DamagedError if a part was damaged after it was checked; the parts are kept.
    """
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        files = {
            kind: stack.enter_context(replacing(state / name))
            for kind, name in (("error", ERRORS), ("warning", WARNINGS))
        }

        def bodies(source: BulkSource, part_names: Sequence[str]) -> Iterator[bytes]:
            """Yield the body of each part; write and count its notes."""
            for name in part_names:
                part = parts.read(name)
                if part is None:
                    raise DamagedError(f"{parts.folder / name} is damaged", "a finished part")
                counts["record"] += part.size
                for record, kind, text in part.notes:
                    counts[kind] += 1
                    row = as_json_line({"file": source.name, "record": record, kind: text})
                    files[kind].write(f"{row}\n".encode("utf-8", "replace"))
                yield part.body

        for source, part_names in zip(sources, names, strict=True):
            with write_errors(source.out):
                source.out.parent.mkdir(parents=True, exist_ok=True)
            with replacing(source.out) as file, write_errors(source.out):
                file.writelines(bodies(source, part_names))
    return JoinedCounts(counts["record"], counts["error"], counts["warning"])
