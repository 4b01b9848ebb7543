"""Input, output and progress of the commands that read lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, TypeVar

import typer

from attncli import console
from attncli.data.streams import Write, texts_as_stream
from attncli.data.text_files import open_bytes
from attncli.plurals import counted

if TYPE_CHECKING:
    from attncli.data.lines import ClassifiedLine, TranslatedLine

Done = TypeVar("Done", "TranslatedLine", "ClassifiedLine")

Input = Annotated[
    Path | None,
    typer.Option("--input", "-i", help="File to read instead of standard input (gz, xz, zst too)."),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="File to write instead of standard output.")
]


def open_source(texts: list[str] | None, path: Path | None) -> AbstractContextManager[BinaryIO]:
    """Open the texts of the command line, a file, or standard input; refuse texts and a file."""
    if texts and path:
        raise typer.BadParameter("give either text or a file to read", param_hint="'--input'")
    return nullcontext(texts_as_stream(texts)) if texts else open_bytes(path)


@contextmanager
def byte_progress(label: str, source: BinaryIO, *, shown: bool) -> Iterator[console.ShowProgress]:
    """Show the number of bytes done if results go to a file."""
    if not shown:
        yield lambda done, note="": None
        return
    with console.progress(label, total=_size(source)) as advance:
        yield advance


def write_chunks(
    results: Iterable[list[Done]],
    rows: Callable[[list[Done]], bytes],
    write: Write,
    advance: console.ShowProgress,
) -> Iterator[list[Done]]:
    """Write the rows of each chunk, report its notes, yield it, and advance the progress."""
    size = count = 0
    for outcomes in results:
        write(rows(outcomes))
        for outcome in outcomes:
            if outcome.note:
                console.warn(outcome.note)
        yield outcomes
        count += len(outcomes)
        size += sum(len(line.text.encode()) + len(line.ending) for line, *_ in outcomes)
        advance(size, counted(count, "line"))


def _size(source: BinaryIO) -> int | None:
    try:
        return os.fstat(source.fileno()).st_size or None
    except OSError:  # text from the command line
        return None
