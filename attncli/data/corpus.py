r"""Parallel text for training and evaluation: aligned lines of files, plain or compressed.

A corpus is a source file and one or more reference files with the same number of lines, or one
table whose columns (source, reference, further references) are separated by tabs or ` ||| `. Only
the current line is in memory. Lines end at ``\n`` only; a ``\r`` before it and a byte order mark
are removed. Compression is recognised by the first bytes of a file, not by its name.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from attncli.data.lines import decode
from attncli.data.streams import open_input
from attncli.plurals import counted
from models.errors import ModelError
from models.limits import FILE_BYTES, LINE_BYTES, WINDOW_BYTES

BARS = "|||"  # as fast_align, Moses and others write pairs
BLOCK = 1 << 16  # bytes of one read
HEAD = 8  # bytes that tell a compressed file
PORTION = 1 << 10  # bytes decompressed at a time; zstd can multiply them by 32,000, into 32 MiB
MARK = b"\xef\xbb\xbf"  # a byte order mark


class CorpusPair(NamedTuple):
    """A source line and its reference translations."""

    source: str
    references: tuple[str, ...]  # at least one


def read_pairs(paths: Sequence[Path | str]) -> Iterator[CorpusPair]:
    """Yield the pairs of a corpus, in order.

    paths: one file for the source and one for each reference, or a single table. Raises ModelError
    for files that cannot be read, are empty, or have different numbers of lines.
    """
    columns = _table(Path(paths[0])) if len(paths) == 1 else aligned([Path(path) for path in paths])
    for source, *references in columns:
        yield CorpusPair(source, tuple(references))


def fingerprint(paths: Sequence[Path | str]) -> str:
    """Return a hash of a corpus that depends on its content, not on paths or compression."""
    digest = hashlib.sha256()
    for column, path in zip(_columns(len(paths)), paths, strict=True):
        digest.update(f"{column} {_content_hash(Path(path))}\n".encode())
    return digest.hexdigest()


@contextmanager
def open_text(path: Path | str) -> Iterator[Iterator[str]]:
    """Open a file, or standard input for ``-``, as decompressed lines."""
    path = Path(path)
    with open_input(path) as stream:
        yield _texts(path, _split(_content(path, stream)))


@contextmanager
def open_bytes(path: Path | None) -> Iterator[BinaryIO]:
    """Open a file, decompressed if it is gz, xz or zst; standard input for None and ``-``."""
    with open_input(path) as stream:
        if path is not None and _decoder(_first_bytes(stream)):
            yield io.BufferedReader(_Blocks(_content(path, stream)))
        else:
            yield stream


def _first_bytes(stream: BinaryIO) -> bytes:
    """Return the first bytes of a regular file, and leave its position; none of another stream."""
    try:
        is_file = stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
        return os.pread(stream.fileno(), HEAD, 0) if is_file else b""
    except OSError:
        return b""


class _Blocks(io.RawIOBase):
    """Blocks of bytes as a stream."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._rest = blocks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest and (block := next(self._blocks, None)) is not None:
            self._rest = bytes(block)
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


def read_content(path: Path | str) -> bytes:
    """Return the decompressed content of a file, without a byte order mark."""
    path, content = Path(path), bytearray()
    with open_input(path) as stream:
        for block in _content(path, stream):
            content += block
            if len(content) > FILE_BYTES:
                raise ModelError(f"{path} is longer than {FILE_BYTES:,} bytes", "a smaller file")
    return bytes(content).removeprefix(MARK)


def read_head(path: Path | str) -> bytes:
    """Return the first decompressed bytes of a file, without a byte order mark."""
    path = Path(path)
    with open_input(path) as stream:
        return next(_content(path, stream), b"").removeprefix(MARK)


def aligned(paths: Sequence[Path]) -> Iterator[tuple[str, ...]]:
    """Yield the lines of several files in parallel; ModelError if their numbers differ."""
    with _opened(list(paths)) as columns:
        for number in itertools.count(1):
            row = [next(column, None) for column in columns]
            texts = tuple(text for text in row if text is not None)
            if len(texts) < len(row):
                counts = [number - (text is None) for text in row]
                rest = [sum(1 for _ in column) for column in columns]
                _check_counts(paths, [c + more for c, more in zip(counts, rest, strict=True)])
                return
            yield texts


def separator_of(line: str) -> str:
    """Return the column separator of a line: a tab or, in a line without tabs, `|||`."""
    return BARS if BARS in line and "\t" not in line else "\t"


def cells(line: str, separator: str) -> list[str]:
    """Return the columns of a line, without the spaces around `|||`."""
    row = line.split(separator)
    return [cell.strip(" ") for cell in row] if separator == BARS else row


def _check_counts(paths: Sequence[Path], counts: list[int]) -> None:
    _refuse_empty(paths, counts)
    if len(set(counts)) > 1:
        said = [
            f"{path} has {counted(count, 'line')}"
            for path, count in zip(paths, counts, strict=True)
        ]
        raise ModelError(" and ".join(said), "as many in each", "line n of one goes with line n")


def _refuse_empty(paths: Sequence[Path], counts: list[int]) -> None:
    for path, count in zip(paths, counts, strict=True):
        if not count:
            raise ModelError(f"{path} is empty", "a sentence on each line")


def _table(path: Path) -> Iterator[list[str]]:
    width = number = 0
    separator = ""
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            separator = separator or separator_of(line)
            row = cells(line, separator)
            width = width or len(row)
            if len(row) < 2:
                raise ModelError(
                    f"{path}, line {number} has no {'tab' if separator != BARS else BARS}",
                    "source, tab, translation",
                    "give two files if this is the source alone",
                )
            if len(row) != width:
                seen = (
                    f"{path}, line {number} has {counted(len(row), 'column')}, line 1 has {width}"
                )
                raise ModelError(seen, "as many in each line")
            yield row
    _refuse_empty([path], [number])


@contextmanager
def _opened(paths: list[Path]) -> Iterator[list[Iterator[str]]]:
    if not paths:
        yield []
        return
    if [str(path) for path in paths].count("-") > 1:
        raise ModelError("standard input is given twice", "a file for each other column")
    with open_text(paths[0]) as first, _opened(paths[1:]) as others:
        yield [first, *others]


def _texts(path: Path, lines: Iterator[bytes]) -> Iterator[str]:
    for number, content in enumerate(lines, 1):
        line = decode(content, number)
        if line.fault:
            raise ModelError(f"{path}, line {number} is {line.fault}")
        yield line.text.rstrip("\r")


def _split(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines with their ends; an over-long line is cut just above the limit of `decode`."""
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


def _content(path: Path, stream: BinaryIO) -> Iterator[bytes]:
    """Yield decompressed blocks of a stream; raise a ModelError if it is damaged."""
    head = stream.read(BLOCK)
    blocks = itertools.chain([head], iter(lambda: stream.read(BLOCK), b""))
    decoder = _decoder(head)
    damage: tuple[type[Exception], ...] = (EOFError, OSError)
    if decoder:
        damage += (decoder.error,)
    try:
        yield from _decompressed(blocks, decoder.new) if decoder else blocks
    except damage as error:
        raise ModelError(f"{path} is damaged or incomplete ({error})", "a whole file") from None


class _Decoder(NamedTuple):
    """A format of compressed files."""

    new: Callable[[], Any]  # returns a decoder
    error: type[Exception]  # raised by it


def _decoder(head: bytes) -> _Decoder | None:
    """Return the decoder for a file with these first bytes; None for text.

    The libraries are imported here because a text needs none, and `attn translate` starts faster.
    """
    if head.startswith(b"\x1f\x8b"):
        return _Decoder(lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS), zlib.error)
    if head.startswith(b"\xfd7zXZ\0"):
        import lzma

        return _Decoder(lambda: lzma.LZMADecompressor(memlimit=WINDOW_BYTES), lzma.LZMAError)
    if head.startswith(b"\x28\xb5\x2f\xfd") or head[1:4] == b"\x2a\x4d\x18":  # or one to skip
        import zstandard

        return _Decoder(
            lambda: zstandard.ZstdDecompressor(max_window_size=WINDOW_BYTES).decompressobj(),
            zstandard.ZstdError,
        )
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
            block, decoder = (
                decoder.unused_data.lstrip(b"\0"),
                None,
            )  # a file may be padded with zeros
    if decoder:
        raise EOFError("it ends too early")


def _portions(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Cut blocks into portions of at most so many bytes."""
    for block in blocks:
        yield from (block[start : start + size] for start in range(0, len(block), size))


def _columns(count: int) -> list[str]:
    return ["table"] if count == 1 else ["source", *(f"reference {n}" for n in range(1, count))]


def _content_hash(path: Path) -> str:
    digest = hashlib.sha256()
    with open_input(path) as stream:
        for block in _content(path, stream):
            digest.update(block)
    return digest.hexdigest()
