"""Byte streams: files, standard input and output, compression, encodings, JSON."""

from __future__ import annotations

import glob
import itertools
import json
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from models.core.errors import InputError, ModelError, NotFoundError
from models.core.files import replacing
from models.core.limits import FILE_BYTES, WINDOW_BYTES

# Ends of lines for some readers of JSON lines, and characters that control a terminal
SPECIAL = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
COMPRESSED = (".gz", ".xz", ".zst")
TEXT = "text"  # lines; not a document format
WESTERN = "windows-1252"
MAX_ACCENTED = 0.3  # share of the letters; a text in another code page has more
FOLDERS = "`attn bulk FOLDER OUT -- translate` reads folders of text; a document: -i FILE -o FILE"
BLOCK = 1 << 16  # bytes of one read
PORTION = 1 << 10  # bytes decompressed at a time; zstd can multiply them by 32,000, into 32 MiB
Write = Callable[[bytes], None]


def as_json(record: object) -> str:
    """Return a record as an indented document."""
    return json.dumps(record, ensure_ascii=False, indent=2) + "\n"


def as_json_line(record: object) -> str:
    """Return a record as one line, without a line end; SPECIAL and control characters escaped."""
    row = json.dumps(record, ensure_ascii=False)
    return SPECIAL.sub(lambda found: f"\\u{ord(found[0]):04x}", row)


def western(content: bytes) -> str | None:
    """Return some content that is not UTF-8 as Windows-1252; None if it does not look like that."""
    try:
        text = content.decode(WESTERN)
    except UnicodeDecodeError:
        return None
    letters = [sign for sign in text if sign.isalpha()]
    accented = sum(sign > "\x7f" for sign in letters)
    # Windows-1252 has a letter for almost every byte, so decoding alone proves nothing
    is_binary = b"\xff" in content or any(sign < " " and sign not in "\t\n\r\f" for sign in text)
    return None if is_binary or accented > MAX_ACCENTED * len(letters) else text


def uncompressed(path: Path) -> Path:
    """Return a path without the suffix of its compression."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSED else path


def is_compressed(head: bytes) -> bool:
    """Return True if a stream with these first bytes (at least 6) is compressed."""
    return _decoder(head) is not None


def decompressed(stream: BinaryIO, name: Path | str, head: bytes = b"") -> Iterator[bytes]:
    """Yield blocks of a stream, decompressed if it is compressed.

    name: of the stream, for messages. head: bytes of the stream that are already read. Raises
    ModelError if the stream is damaged or incomplete.
    """
    head = head or stream.read(BLOCK)
    blocks = itertools.chain([head], iter(lambda: stream.read(BLOCK), b""))
    new, error = _decoder(head) or (None, OSError)
    try:
        yield from _decompressed(blocks, new) if new else blocks
    except (EOFError, OSError, error) as damage:
        raise ModelError(f"{name} is damaged or incomplete ({damage})", "a whole file") from None


def read_whole(stream: BinaryIO, name: Path | str) -> bytes:
    """Return the decompressed content of a stream; InputError if it is longer than FILE_BYTES."""
    content = bytearray()
    for block in decompressed(stream, name):
        content += block
        if len(content) > FILE_BYTES:
            raise InputError(f"{name} is longer than {FILE_BYTES:,} bytes", "a smaller file")
    return bytes(content)


def compressing(stream: BinaryIO, path: Path) -> AbstractContextManager[Any]:
    """Return a stream that compresses for a path that ends in gz, xz or zst; else the stream.

    The libraries are imported where they are needed, because `attn translate` then starts faster.
    """
    suffix = path.suffix.lower()
    if suffix == ".gz":
        import gzip

        # without a time, equal texts give equal files
        return gzip.GzipFile("", "wb", fileobj=stream, mtime=0)
    if suffix == ".xz":
        import lzma

        return lzma.LZMAFile(stream, "wb")
    if suffix == ".zst":
        import zstandard

        return zstandard.ZstdCompressor().stream_writer(stream, closefd=False)
    return nullcontext(stream)


def _decoder(head: bytes) -> tuple[Callable[[], Any], type[Exception]] | None:
    """Return how a decoder for a file with these first bytes is made, and its error.

    None for text.
    """
    if head.startswith(b"\x1f\x8b"):
        return partial(zlib.decompressobj, wbits=16 + zlib.MAX_WBITS), zlib.error
    if head.startswith(b"\xfd7zXZ\0"):
        import lzma

        # a small file can ask for a window of gigabytes
        return partial(lzma.LZMADecompressor, memlimit=WINDOW_BYTES), lzma.LZMAError
    if head.startswith(b"\x28\xb5\x2f\xfd") or head[1:4] == b"\x2a\x4d\x18":  # or one to skip
        import zstandard

        reader = zstandard.ZstdDecompressor(max_window_size=WINDOW_BYTES)
        return reader.decompressobj, zstandard.ZstdError
    return None


def _decompressed(blocks: Iterator[bytes], new_decoder: Callable[[], Any]) -> Iterator[bytes]:
    """Yield the content of each frame; a file may consist of several compressed files.

    zstandard's own reader does not report a truncated file, so this asks each decoder whether
    its frame has ended.
    """
    decoder = None
    for block in _portions(blocks, PORTION):
        while block:
            decoder = decoder or new_decoder()
            yield from _portions([decoder.decompress(block)], BLOCK)
            if not decoder.eof:
                break
            block = decoder.unused_data.lstrip(b"\0")  # a file may be padded with zeros
            decoder = None
    if decoder:
        raise EOFError("it ends too early")


def _portions(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Cut blocks into portions of at most `size` bytes."""
    for block in blocks:
        yield from (block[start : start + size] for start in range(0, len(block), size))


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
    for file in (file for path in paths for file in matching(path)):
        if str(file) != "-" and not os.path.exists(file):
            _opened(file).close()


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
    if odd := [each for each in found if each.exists() and not (each.is_file() or each.is_dir())]:
        raise InputError(f"{odd[0]} is not a regular file", "files alone that match a pattern")
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
        # replacing the link itself would leave the file that it names unchanged
        target = Path(os.path.realpath(path)) if os.path.islink(path) else path
        with replacing(target) as file, compressing(file, path) as stream:
            yield _writer(stream, path)


def write_stdout(text: str) -> None:
    """Write a text to standard output; a character that UTF-8 lacks becomes a question mark."""
    with open_output(None) as write:
        write(text.encode("utf-8", "replace"))


def _descriptor(path: Path) -> int | None:
    """Return the descriptor that /dev/stdout and its like name; None for other paths.

    A file behind it, opened by its name, would lose what the shell has written.
    """
    named = re.fullmatch(r"/dev/(stdout|stderr|fd/(\d{1,9}))", str(path))
    return named and {"stdout": 1, "stderr": 2}.get(named[1], int(named[2] or 0))


def _opened(path: Path, verb: str = "read") -> BinaryIO:
    try:
        if verb == "read":
            return open(path, "rb")
        number = _descriptor(path)
        # opened again by its name, a file behind /dev/stdout would lose what the shell has written
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
    found = f"cannot {verb} {path}: {getattr(error, 'strerror', None) or error}"
    return ModelError(
        found, hint=FOLDERS if isinstance(error, IsADirectoryError) and verb == "read" else ""
    )
