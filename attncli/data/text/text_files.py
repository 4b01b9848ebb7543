r"""Files of text as lines, plain or compressed.

Lines end at ``\n`` only; a ``\r`` before it and a byte order mark are removed. Decomposed accents
are composed (Unicode NFC), because models read their input so. Compressed files are decompressed
(`compression`). Only the current block is in memory.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from attncli.data.compression import decompressed, decompressed_stream, is_compressed
from attncli.data.lines import decode
from attncli.data.streams import matching, open_input
from models.base.errors import InputError, ModelError
from models.base.limits import FILE_BYTES, LINE_BYTES
from models.text.normalise import nfc

HEAD = 8  # bytes that tell a compressed file
MARK = b"\xef\xbb\xbf"  # a byte order mark
Form = Callable[[str], str]  # returns a text in the Unicode form to read

UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@contextmanager
def open_text(path: Path | str, *, as_written: bool = False) -> Iterator[Iterator[str]]:
    """Open a file, or standard input for ``-``, as decompressed lines.

    The files that match a pattern (`streams.matching`) are read one after another. as_written: True
    leaves decomposed accents, for lines with names of files.
    """
    form = str if as_written else nfc
    files = matching(path)
    if len(files) > 1:
        yield itertools.chain.from_iterable(_lines(file, form) for file in files)
        return
    with open_input(files[0]) as stream:
        yield _texts(files[0], decompressed(stream, files[0]), form)


@contextmanager
def open_bytes(path: Path | None) -> Iterator[BinaryIO]:
    """Open a file, decompressed if it is gz, xz or zst; standard input for None and ``-``.

    A pipe is returned as it is, because its first bytes may not have arrived: `read_chunks`
    decompresses it.
    """
    with open_input(path) as stream:
        if is_compressed(_first_bytes(stream)):
            yield decompressed_stream(stream, path or "standard input")
        else:
            yield stream


def _first_bytes(stream: BinaryIO) -> bytes:
    """Return the first bytes of a regular file, and leave its position; none of another stream."""
    try:
        is_file = stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
        return os.pread(stream.fileno(), HEAD, 0) if is_file else b""
    except OSError:
        return b""


def read_content(path: Path | str) -> bytes:
    """Return the decompressed content of a file, without a byte order mark."""
    path, content = Path(path), bytearray()
    with open_input(path) as stream:
        for block in decompressed(stream, path):
            content += block
            if len(content) > FILE_BYTES:
                raise ModelError(f"{path} is longer than {FILE_BYTES:,} bytes", "a smaller file")
    return bytes(content).removeprefix(MARK)


def read_head(path: Path | str) -> bytes:
    """Return the first decompressed bytes of a file, without a byte order mark."""
    path = Path(path)
    with open_input(path) as stream:
        return next(decompressed(stream, path), b"").removeprefix(MARK)


def _lines(path: Path, form: Form) -> Iterator[str]:
    with open_input(path) as stream:
        yield from _texts(path, decompressed(stream, path), form)


def _texts(path: Path, blocks: Iterator[bytes], form: Form) -> Iterator[str]:
    """Yield the decoded lines of a file; ModelError for one that cannot be decoded.

    The lines of a block are decoded at once, unless one of them must be checked.
    """
    number = 0
    for block in _complete_lines(blocks):
        lines = _plain_lines(block, form) if number else None
        yield from lines or _checked_lines(path, block, number + 1, form)
        number += block.count(b"\n")


def _plain_lines(block: bytes, form: Form) -> list[str] | None:
    """Return the lines of a block; None if there is a carriage return, or perhaps a fault."""
    if b"\r" in block or len(block) > LINE_BYTES:
        return None
    try:
        return form(block.removesuffix(b"\n").decode("utf-8")).split("\n")
    except UnicodeDecodeError:
        return None


def _checked_lines(path: Path, block: bytes, first: int, form: Form) -> Iterator[str]:
    """Yield the lines of a block, each checked. first: number of the first line."""
    for number, content in enumerate(byte_lines(iter([block])), first):
        line = decode(content, number)
        if line.fault:
            raise InputError(f"{path}, line {number} is {line.fault}", *_wanted(content))
        yield form(line.text.rstrip("\r"))


def _wanted(content: bytes) -> tuple[str, ...]:
    """Return what is expected in the place of a faulty line, and how to get it."""
    if len(content) > LINE_BYTES:
        return ("shorter lines",)
    other = "UTF-16" if content.startswith(UTF_16_MARKS) else "LATIN1"
    return ("UTF-8", f"convert the file, as with `iconv -f {other} -t UTF-8`")


def _complete_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield blocks that end where a line ends; an over-long line is cut as in `byte_lines`."""
    partial = bytearray()
    for block in blocks:
        first, end, rest = block.partition(b"\n")
        if len(partial) <= LINE_BYTES:
            partial += first
        if end:
            lines, last_end, first = rest.rpartition(b"\n")
            yield bytes(partial) + end + lines + last_end
            partial = bytearray(first)
    if partial:
        yield bytes(partial)


def byte_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of some blocks, with their ends.

    An over-long line is cut just above the limit of `decode`.
    """
    partial = bytearray()
    for block in blocks:
        first, *others = block.split(b"\n")
        if len(partial) <= LINE_BYTES:
            partial += first
        for line in others:
            yield bytes(partial) + b"\n"
            partial = bytearray(line)
    if partial:
        yield bytes(partial)
