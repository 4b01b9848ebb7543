"""Lines from a file, a pipe or the arguments; their outputs and pictures."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, NamedTuple, Protocol, TextIO, TypeVar

import typer

from attncli.data.lines import input_chunks
from attncli.data.named_files import NamedFile
from attncli.data.streams import check_output, is_compressed, open_input, open_output
from attncli.render.alignment import FORMATS, format_of
from attncli.task.panels import AlignedPair, WeightedText
from attncli.task.runner import Model, Noted, Result, Runner, TaskOptions
from attncli.terminal import console
from attncli.terminal.messages import ShowProgress, counted
from models.core.errors import ConfigurationError
from models.core.files import write_errors

if TYPE_CHECKING:
    from attncli.faithful.result import Line


Drawn = AlignedPair | WeightedText
ALIGNMENTS = "attncli.render.alignment"
WEIGHTED_TEXTS = "attncli.render.weighted_text"
NAME = "{name}"  # placeholder in names of pictures: the name of the input without its suffix
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


class Drawing(NamedTuple):
    """Requested picture: its file, its format and the pairs it shows."""

    path: Path | None = None
    format: str = ""
    chosen: Sequence[range] = ()  # empty: the first pairs

    @property
    def heads(self) -> bool:
        """True if the picture shows the weights of every head."""
        return bool(self.format) and FORMATS[self.format].heads

    def wants(self, pair: Drawn) -> bool:
        """Return True if the picture shows a pair."""
        return not self.chosen or any(pair.number in some for some in self.chosen)


class Picture:
    """Pairs collected for a picture. writers: the module that draws them."""

    def __init__(self, drawing: Drawing, writers: str = ALIGNMENTS) -> None:
        self.drawing, self.writers = drawing, writers
        self.pairs: list[Drawn] = []
        self.left_out = 0

    def take(self, pairs: Iterable[Drawn]) -> None:
        """Collect the pairs that will be drawn."""
        if not self.drawing.path:
            return
        most = None if self.drawing.chosen else FORMATS[self.drawing.format].most
        for pair in filter(self.drawing.wants, pairs):
            if most is None or len(self.pairs) < most:
                self.pairs.append(pair)
            else:
                self.left_out += 1

    def draw(self) -> None:
        """Write the file, and report the pairs that are not in it."""
        path, name, _ = self.drawing
        if not path:
            return
        writers = import_module(self.writers)
        if name in ("png", "pdf"):
            from attncli.render.figures import undrawable

            if problem := undrawable([text for pair in self.pairs for text in pair.drawn]):
                console.warn(f"{path}: {problem}")
        if self.drawing.chosen and not self.pairs:
            console.warn(f"{path} shows nothing: none of the lines of picture.lines has a result")
        if self.left_out:
            total = len(self.pairs) + self.left_out
            console.warn(
                f"{path} shows pairs 1 to {len(self.pairs):,} of {total:,}; "
                "-s picture.lines=RANGE selects others"
            )
        with open_output(path) as write:
            write(writers.written(self.pairs, name))


def check_drawing(
    path: Path | None, lines: str, *, drawn: bool = True, arrays: bool = False
) -> Drawing:
    """Return the requested drawing; raise an error before the model runs if it is impossible.

    lines: the setting picture.lines. drawn: True if heat maps are drawn in the terminal.
    arrays: True accepts .npz.
    """
    if lines and not (path or drawn):
        raise ConfigurationError("picture.lines without a picture", "--show or --picture")
    try:
        chosen = numbers(lines) if lines else ()
    except ValueError:
        raise ConfigurationError(f"picture.lines={lines}", "lines such as 1-20,35") from None
    if not path:
        return Drawing(chosen=chosen)
    name = format_of(path, pictures=True, arrays=arrays)
    check_output(path)
    return Drawing(path, name, chosen)


def check_shown(show: bool, format: str) -> None:
    """Raise a usage error for drawings in the terminal among rows for programs."""
    if show and format != "text":
        raise typer.BadParameter(
            f"cannot be combined with --format {format}", param_hint="'--show'"
        )


class PictureFiles:
    """Pictures of images or recordings: a file for each; those of one name get numbers."""

    def __init__(self, place: str) -> None:
        """place: a file for one input; for several, a folder/ or a name that contains {name}."""
        is_folder = place.endswith("/") or Path(place).is_dir()
        self.pattern = Path(place, f"{NAME}.png") if is_folder else Path(place)
        self._new_folder = place.endswith("/")
        self._written: set[str] = set()

    def check(self, inputs: str, *, alone: bool) -> None:
        """Refuse one file for several inputs, and one that cannot be written; make the folder."""
        if not alone and NAME not in str(self.pattern):
            raise typer.BadParameter(
                f"one file for several {inputs}; put {NAME} into its name, or give a folder/",
                param_hint="'--picture'",
            )
        if self._new_folder:
            with write_errors(self.pattern.parent):
                self.pattern.parent.mkdir(parents=True, exist_ok=True)
        check_output(self.pattern)

    def path(self, name: str) -> Path:
        """Return the file of the next input, which has a name."""
        stem = "stdin" if name == "-" else Path(name).stem
        names = chain([stem], (f"{stem}-{number}" for number in count(2)))
        name = next(one for one in names if one not in self._written)
        self._written.add(name)
        return Path(str(self.pattern).replace(NAME, name))


def numbers(text: str) -> Sequence[range]:
    """Return the numbers that `1-20,35` means; a ValueError if the syntax is wrong."""
    found = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        start = int(first)
        found.append(range(start, int(last if dash else first) + 1))
        if start < 1 or not found[-1]:
            raise ValueError(part)
    return found


class LineOutcome(Noted, Protocol):
    """A result of a line."""

    @property
    def line(self) -> Line:
        """The line."""


LineResult = TypeVar("LineResult", bound=LineOutcome)


def open_source(texts: Sequence[str], path: Path | None) -> AbstractContextManager[BinaryIO]:
    """Open the texts of the command line, a file, or standard input; refuse texts and a file.

    The text "-" alone stands for standard input, as it does for files. Who reads the stream
    decompresses it, as `read_chunks` does.
    """
    if texts and path:
        raise typer.BadParameter("give either text or a file to read", param_hint="'--input'")
    given = () if [*texts] == ["-"] else texts
    lines = (os.fsencode(text) + b"\n" for text in given)
    return nullcontext(io.BytesIO(b"".join(lines))) if given else open_input(path)


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


def write_lines(
    runner: Runner[Line, LineResult, Model, TaskOptions],
    source: BinaryIO,
    output: Path | None,
    picture: Picture,
    *,
    weights: bool,
    show: bool,
    remarks: Callable[[list[LineResult]], Iterable[str]] = lambda results: (),
    read: Callable[[BinaryIO], Iterator[list[Line]]] = input_chunks,
) -> bool:
    """Compute, write and report the lines of a stream; return True if all have a result.

    weights, picture: what is drawn of them. show: True draws below each row, too. remarks: about
    some results. read: divides the stream into chunks.
    """
    complete, away = True, is_away(output) and not source.isatty()
    with (
        open_output(output) as write,
        console.progress(runner.doing, total=_size(source), shown=away) as advance,
    ):
        progress = ByteProgress(advance)
        runner.on_batch = progress.show_share
        for results in runner.run(progress.read(read(source)), weights=weights):
            write(_shown(runner, results, picture.drawing) if show else runner.rows(results))
            if picture.drawing.path:
                picture.take(drawn for each in results for drawn in runner.drawn(each))
            for message in chain(filter(None, (each.note for each in results)), remarks(results)):
                console.warn(message)
            complete = complete and all(runner.text(each) is not None for each in results)
            progress.finish([each.line for each in results])
    return complete


def write_files(
    runner: Runner[NamedFile, Result, Model, TaskOptions],
    groups: Iterable[Sequence[NamedFile]],
    output: Path | None,
    *,
    weights: bool,
    show: bool,
    take: Callable[[list[Result]], Iterable[str]],
    total: int | None = None,
    frame: tuple[bytes, bytes] = (b"", b""),
) -> bool:
    """Compute, write and report files as they finish; return True if there was no fault.

    take: receives some results; returns further faults. total: number of files, if it is known.
    frame: what is written before and after all results.
    """
    count = failed = 0
    shown = not runner.options.alone and is_away(output)
    with (
        open_output(output) as write,
        console.progress(runner.doing, total=total, shown=shown) as advance,
    ):
        write(frame[0])
        for results in runner.run(groups, weights=weights):
            for each in [[one] for one in results] if show else [results]:
                write(runner.rows(each))
                if show:
                    write(runner.heat_map(each[0]).encode("utf-8", "replace"))
            for fault in [*(one.note for one in results if one.note), *take(results)]:
                console.warn(fault)
                failed += 1
            count += len(results)
            advance(count, counted(count, runner.unit))
        write(frame[1])
    return not failed


def _shown(
    runner: Runner[Line, LineResult, Model, TaskOptions],
    results: Sequence[LineResult],
    drawing: Drawing,
) -> bytes:
    """Return the row of each line, followed by its drawing if that is chosen."""
    found = b""
    for each in results:
        shown = runner.heat_map(each) if any(map(drawing.wants, runner.drawn(each))) else ""
        found += runner.rows([each]) + shown.encode("utf-8", "replace")
    return found


def _bytes(lines: Iterable[Line]) -> int:
    return sum(len(line.text.encode()) + len(line.ending) for line in lines)


def _size(source: BinaryIO) -> int | None:
    """Return the bytes of a file; None if they are not known, as of a compressed one."""
    try:
        size = os.fstat(source.fileno()).st_size
        return size if size and not is_compressed(os.pread(source.fileno(), 8, 0)) else None
    except OSError:  # text from the command line
        return None
