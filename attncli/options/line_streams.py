"""Input, output and progress of the commands that read lines."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Generic, TextIO, TypeVar

import typer

from attncli.data.lines import input_chunks
from attncli.data.streams import is_compressed, open_input, open_output, texts_as_stream
from attncli.options.pictures import Picture
from attncli.terminal import console
from attncli.terminal.messages import Screen, ShowProgress, counted

if TYPE_CHECKING:
    from attncli.data.lines import ClassifiedLine, Line, TranslatedLine

Done = TypeVar("Done", "TranslatedLine", "ClassifiedLine")

Input = Annotated[
    Path | None,
    typer.Option("--input", "-i", help="File to read instead of standard input (gz, xz, zst too)."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="File to write instead of standard output (gz, xz, zst too)."
    ),
]


def open_source(texts: list[str] | None, path: Path | None) -> AbstractContextManager[BinaryIO]:
    """Open the texts of the command line, a file, or standard input; refuse texts and a file.

    The text "-" alone stands for standard input, as it does for files. Who reads the stream
    decompresses it, as `read_chunks` does.
    """
    if texts and path:
        raise typer.BadParameter("give either text or a file to read", param_hint="'--input'")
    given = texts if texts != ["-"] else None
    return nullcontext(texts_as_stream(given)) if given else open_input(path)


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


@dataclass(frozen=True)
class LineWriter(Generic[Done]):
    """Rows of lines, and the pictures drawn of them."""

    rows: Callable[[list[Done]], bytes]
    picture: Picture
    drawn: Callable[[Done], Sequence[Any]]  # what a picture shows of a line
    in_terminal: Callable[[Any, Screen], str]  # the same, under the row of the line
    screen: Screen | None = None  # None: rows alone

    def written(self, outcomes: list[Done]) -> bytes:
        """Return the rows of some lines, each followed by its drawing if these are shown."""
        if self.screen is None:
            return self.rows(outcomes)
        found = b""
        for outcome in outcomes:
            drawn = filter(self.picture.drawing.wants, self.drawn(outcome))
            shown = "".join(self.in_terminal(each, self.screen) for each in drawn)
            found += self.rows([outcome]) + shown.encode("utf-8", "replace")
        return found


def write_lines(
    doing: str,
    source: BinaryIO,
    output: Path | None,
    run: Callable[..., Iterator[list[Done]]],
    writer: LineWriter[Done],
    remarks: Callable[[list[Done]], Iterable[str]] = lambda outcomes: (),
) -> bool:
    """Process, write and report the lines of a stream; return True if all have a result.

    run: from chunks of lines to their outcomes; its `on_batch` is called with the number of texts
    of the chunk that are done, and of all its texts. remarks: about some outcomes.
    """
    complete, shown = True, is_away(output) and not source.isatty()
    with (
        open_output(output) as write,
        console.progress(doing, total=_size(source), shown=shown) as advance,
    ):
        progress = ByteProgress(advance)
        chunks = progress.read(input_chunks(source))
        for outcomes in run(chunks, on_batch=progress.show_share):
            write(writer.written(outcomes))
            if writer.picture.drawing.path:
                writer.picture.take(drawn for each in outcomes for drawn in writer.drawn(each))
            notes = (outcome.note for outcome in outcomes if outcome.note)
            for message in chain(notes, remarks(outcomes)):
                console.warn(message)
            complete = complete and all(found is not None for _, found, *_ in outcomes)
            progress.finish([line for line, *_ in outcomes])
    return complete


def _bytes(lines: Iterable[Line]) -> int:
    return sum(len(line.text.encode()) + len(line.ending) for line in lines)


def _size(source: BinaryIO) -> int | None:
    """Return the bytes of a file; None if they are not known, as of a compressed one."""
    try:
        size = os.fstat(source.fileno()).st_size
        return size if size and not is_compressed(os.pread(source.fileno(), 8, 0)) else None
    except OSError:  # text from the command line
        return None
