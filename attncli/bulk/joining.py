"""The end of a bulk job: outputs made of parts, and the rows of errors and warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from attncli.bulk.parts import PartFolder
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
