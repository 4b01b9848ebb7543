"""Where lines come from and where results go: standard streams, files, text on the command line.

A file of results is written beside its place, under a name ending in ``.part``, and renamed when
it is whole; what failed or was interrupted leaves the old file as it was.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from models.errors import ModelError

Write = Callable[[bytes], None]


def texts_as_stream(texts: Sequence[str]) -> BinaryIO:
    """Arguments of a command line as the lines of a stream."""
    return io.BytesIO(b"".join(os.fsencode(text) + b"\n" for text in texts))


@contextmanager
def open_input(path: Path | None) -> Iterator[BinaryIO]:
    """A file, or standard input for None and ``-``. What cannot be read is a ModelError."""
    if path is None or str(path) == "-":
        if sys.stdin is None:
            raise ModelError("standard input is closed", do="give a file with -i, or text")
        yield sys.stdin.buffer
        return
    with _opened(path) as stream:
        yield stream


@contextmanager
def open_output(path: Path | None) -> Iterator[Write]:
    """A function that writes bytes and flushes: to a file, or to stdout for None and ``-``."""
    if path is None or str(path) == "-":
        if sys.stdout is None:
            raise ModelError("standard output is closed", do="give a file with -o")
        yield _writer(sys.stdout.buffer, Path("standard output"))
    elif path.exists() and not stat.S_ISREG(path.stat().st_mode):  # a device, a named pipe
        with _created(path, path) as stream:
            yield _writer(stream, path)
    else:
        place = path.resolve()  # where a link leads
        part = place.with_name(place.name + ".part")
        with _removed_unless_whole(part):
            with _created(part, path) as stream:
                yield _writer(stream, path)
            part.replace(place)


def _opened(path: Path) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        raise _unusable("read", path, error) from None


def _created(place: Path, named: Path) -> BinaryIO:
    try:
        return open(place, "wb", buffering=0)
    except OSError as error:
        raise _unusable("write", named, error) from None


def _writer(stream: BinaryIO, path: Path) -> Write:
    def write(data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:  # an unbuffered stream may take less than it is given
                view = view[stream.write(view) :]
            stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _unusable("write", path, error) from None

    return write


@contextmanager
def _removed_unless_whole(part: Path) -> Iterator[None]:
    try:
        yield
    finally:
        part.unlink(missing_ok=True)  # renamed by now, unless something went wrong


def _unusable(verb: str, path: Path, error: OSError) -> ModelError:
    return ModelError(f"cannot {verb} {path}: {error.strerror}")
