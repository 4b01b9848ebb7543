"""Input, output and progress of the commands that read lines."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, TextIO, TypeVar

import typer

from attncli.data.compression import is_compressed
from attncli.data.streams import Write, open_input, texts_as_stream
from attncli.terminal import console
from attncli.terminal.messages import ShowProgress
from attncli.terminal.plurals import counted

if TYPE_CHECKING:
    from attncli.data.lines import ClassifiedLine, Line, TranslatedLine

Done = TypeVar("Done", "TranslatedLine", "ClassifiedLine")

Input = Annotated[
    Path | None,
    typer.Option("--input", "-i", help="File to read instead of standard input (gz, xz, zst too)."),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="File to write instead of standard output.")
]


def open_source(texts: list[str] | None, path: Path | None) -> AbstractContextManager[BinaryIO]:
    """Open the texts of the command line, a file, or standard input; refuse texts and a file.

    Who reads the stream decompresses it, as `read_chunks` does.
    """
    if texts and path:
        raise typer.BadParameter("give either text or a file to read", param_hint="'--input'")
    return nullcontext(texts_as_stream(texts)) if texts else open_input(path)


def is_away(output: Path | None) -> bool:
    """Return True if progress on stderr cannot mix with results: these go to a file.

    Results in a pipe may end on the same terminal, as with `less` and `tee`.
    """
    if output is not None and str(output) != "-":
        return True
    return console.is_terminal() and _is_file(sys.stdout)


def _is_file(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):  # a stream without a file, or a closed one
        return False


class ByteProgress:
    """Progress through the lines of a stream, in bytes, also within a chunk of lines."""

    def __init__(self, advance: ShowProgress) -> None:
        self._advance = advance
        self._size = self._chunk = 0  # bytes of the finished chunks, and of the current one
        self._lines = 0  # that are finished

    def read(self, chunks: Iterable[list[Line]]) -> Iterator[list[Line]]:
        """Yield chunks; each is the current one until the next one is read."""
        for chunk in chunks:
            self._chunk = _bytes(chunk)
            yield chunk

    def show_share(self, done: int, total: int) -> None:
        """Show the progress within the current chunk: the number of its texts that are done."""
        self._show(self._size + self._chunk * done / total)

    def finish(self, lines: Sequence[Line]) -> None:
        """Show that some lines are finished."""
        self._size += _bytes(lines)
        self._lines += len(lines)
        self._show(self._size)

    def _show(self, size: float) -> None:
        self._advance(size, counted(self._lines, "line"))


@contextmanager
def byte_progress(label: str, source: BinaryIO, *, shown: bool) -> Iterator[ByteProgress]:
    """Show the number of bytes done if `shown`."""
    with console.progress(label, total=_size(source), shown=shown) as advance:
        yield ByteProgress(advance)


def write_chunks(
    results: Iterable[list[Done]],
    rows: Callable[[list[Done]], bytes],
    write: Write,
    progress: ByteProgress,
) -> Iterator[list[Done]]:
    """Write the rows of each chunk, report its notes, yield it, and advance the progress."""
    for outcomes in results:
        write(rows(outcomes))
        for outcome in outcomes:
            if outcome.note:
                console.warn(outcome.note)
        yield outcomes
        progress.finish([line for line, *_ in outcomes])


def _bytes(lines: Iterable[Line]) -> int:
    return sum(len(line.text.encode()) + len(line.ending) for line in lines)


def _size(source: BinaryIO) -> int | None:
    """Return the bytes of a file; None if they are not known, as of a compressed one."""
    try:
        size = os.fstat(source.fileno()).st_size
        return size if size and not is_compressed(os.pread(source.fileno(), 8, 0)) else None
    except OSError:  # text from the command line
        return None
