"""Input and output streams: standard streams, files, and text given on the command line.

An output file is written under a temporary name and renamed when it is complete; see
`models.base.files`. A command that fails or is interrupted leaves the old file unchanged.
"""

from __future__ import annotations

import glob
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from attncli.data.compression import compressing
from models.base.errors import InputError, ModelError, NotFoundError
from models.base.files import replacing

Write = Callable[[bytes], None]


def texts_as_stream(texts: Sequence[str]) -> BinaryIO:
    """Return a stream whose lines are the given texts."""
    return io.BytesIO(b"".join(os.fsencode(text) + b"\n" for text in texts))


@contextmanager
def open_input(path: Path | None) -> Iterator[BinaryIO]:
    """Open a file, or standard input for None and ``-``. Raises ModelError if it cannot be read."""
    if path is None or str(path) == "-":
        if sys.stdin is None:
            raise ModelError("standard input is closed", hint="give a file with -i, or text")
        yield sys.stdin.buffer
        return
    with _opened(path) as stream:
        yield stream


def check_inputs(paths: Iterable[Path | str]) -> None:
    """Raise the ModelError of `open_input` for the first path that does not exist; read nothing.

    Commands call it before they import torch.
    """
    for path in paths:
        for file in matching(path):
            if str(file) != "-" and not os.path.exists(file):
                with _opened(file):
                    pass


def check_files(paths: Iterable[Path | str]) -> None:
    """Check inputs that are read more than once: also raise a ModelError for a pipe."""
    paths = list(paths)
    check_inputs(paths)
    for path in paths:
        if Path(path).is_fifo():
            wanted = "a file, because it is read more than once"
            raise ModelError(f"{path} is a pipe", wanted, "write its content to a file")


def matching(path: Path | str) -> list[Path]:
    """Return the files that a path names: the file itself, or those that match a pattern, sorted.

    A pattern has `*`, `?` or `[` and is not the name of a file. Raises NotFoundError if no file
    matches it.
    """
    path = Path(path)
    if not glob.has_magic(str(path)) or os.path.lexists(path):
        return [path]
    found = sorted(Path(name) for name in glob.glob(str(path)))
    if not found:
        raise NotFoundError(f"no file matches {path}", "a file, or a pattern of files")
    return found


def check_output(path: Path | None, *inputs: Path | str | None) -> None:
    """Raise ModelError if the folder of a file to write does not exist, or it is one of the inputs.

    A device may be both.
    """
    if path is None or str(path) == "-":
        return
    if not path.parent.is_dir():
        raise ModelError(f"cannot write {path}: no folder {path.parent}")
    if path.is_file() and any(os.path.exists(one) and path.samefile(one) for one in inputs if one):
        raise InputError(f"{path} is input and output", "an output of another name")


@contextmanager
def open_output(path: Path | None) -> Iterator[Write]:
    """Yield a function that writes and flushes bytes, to a file or (None or ``-``) to stdout.

    A regular file is replaced when the block ends without an error, otherwise it keeps its content;
    it is compressed if its name ends in gz, xz or zst. A symbolic link that the user names is
    followed. A device, a named pipe, or a stream of this process (/dev/stdout) is written directly.
    """
    if path is None or str(path) == "-":
        if sys.stdout is None:
            raise ModelError("standard output is closed", hint="give a file with -o")
        yield _writer(sys.stdout.buffer, Path("standard output"))
    elif os.path.exists(path) and (_descriptor(path) is not None or not os.path.isfile(path)):
        with _opened(path, "write") as stream:
            yield _writer(stream, path)
    else:
        target = Path(os.path.realpath(path)) if os.path.islink(path) else path
        with replacing(target) as file, compressing(file, path) as stream:
            yield _writer(stream, path)


def write_stdout(text: str) -> None:
    """Write a text to standard output; a character that UTF-8 lacks becomes a question mark."""
    with open_output(None) as write:
        write(text.encode("utf-8", "replace"))


def _descriptor(path: Path) -> int | None:
    """Return the descriptor that /dev/stdout and its like name; None for other paths.

    Opened by its name, a file behind it would lose what the shell has written.
    """
    named = re.fullmatch(r"/dev/(stdout|stderr|fd/(\d{1,9}))", str(path))
    return named and {"stdout": 1, "stderr": 2}.get(named[1], int(named[2] or 0))


def _opened(path: Path, verb: str = "read") -> BinaryIO:
    try:
        if verb == "read":
            return open(path, "rb")
        number = _descriptor(path)
        return open(path if number is None else os.dup(number), "wb", buffering=0)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in a name
        raise _unusable(verb, path, error) from None


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


def _unusable(verb: str, path: Path, error: Exception) -> ModelError:
    return ModelError(f"cannot {verb} {path}: {getattr(error, 'strerror', None) or error}")
