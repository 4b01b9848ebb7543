"""The end of a bulk job: outputs made of parts, and the rows of errors and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, NamedTuple

from attncli.bulk.parts import PartFolder
from attncli.bulk.plan.shards import Part, RecordNote
from attncli.bulk.sources import BulkSource
from attncli.render.json import as_json_line
from models.base.errors import DamagedError
from models.base.files import replacing, write_errors

ERRORS, WARNINGS = "errors.jsonl", "warnings.jsonl"


class JoinedCounts(NamedTuple):
    """Records of a finished job."""

    records: int
    errors: int
    warnings: int


class _NoteFiles(NamedTuple):
    errors: BinaryIO
    warnings: BinaryIO


def join_parts(
    sources: Sequence[BulkSource], names: Sequence[Sequence[str]], parts: PartFolder, state: Path
) -> JoinedCounts:
    """Write the output of each input from its parts, and the notes of all records.

    names: of the parts of each input, in order. Raises ResourceError if a file cannot be written,
    DamagedError if a part was damaged after it was checked; the parts are kept.
    """
    total = JoinedCounts(0, 0, 0)
    with ExitStack() as stack:
        notes = _NoteFiles(
            *(stack.enter_context(replacing(state / name)) for name in (ERRORS, WARNINGS))
        )
        for source, part_names in zip(sources, names, strict=True):
            with write_errors(source.out):
                source.out.parent.mkdir(parents=True, exist_ok=True)
            joined = _Joined(source, notes)
            with replacing(source.out) as file, write_errors(source.out):
                file.writelines(joined.bodies(_read(parts, part_names)))
            total = JoinedCounts(*map(sum, zip(total, joined.counts, strict=True)))
    return total


class _Joined:
    """The bodies of the parts of an input; their notes are written and counted as they are read."""

    def __init__(self, source: BulkSource, notes: _NoteFiles) -> None:
        self.source, self.notes = source, notes
        self.counts = JoinedCounts(0, 0, 0)

    def bodies(self, parts: Iterable[Part]) -> Iterator[bytes]:
        """Yield the body of each part."""
        for part in parts:
            self._note(self.notes.errors, "error", part.errors)
            self._note(self.notes.warnings, "warning", part.warnings)
            added = (part.size, len(part.errors), len(part.warnings))
            self.counts = JoinedCounts(*map(sum, zip(self.counts, added, strict=True)))
            yield part.body

    def _note(self, file: BinaryIO, kind: str, notes: Iterable[RecordNote]) -> None:
        for number, text in notes:
            row = {"file": self.source.name, "record": number, kind: text}
            file.write(f"{as_json_line(row)}\n".encode("utf-8", "replace"))


def _read(parts: PartFolder, names: Iterable[str]) -> Iterator[Part]:
    for name in names:
        part = parts.read(name)
        if part is None:
            raise DamagedError(
                f"the part {parts.folder / name} is missing or damaged",
                "a finished part",
                "give the same command again: it processes the shard again",
            )
        yield part
