"""gz, xz and zst: recognised by the first bytes when read, chosen by the name when written."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from models.base.errors import InputError, ModelError
from models.base.limits import FILE_BYTES, WINDOW_BYTES

BLOCK = 1 << 16  # bytes of one read
PORTION = 1 << 10  # bytes decompressed at a time; zstd can multiply them by 32,000, into 32 MiB


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
    decoder = _decoder(head)
    damage: tuple[type[Exception], ...] = (EOFError, OSError)
    if decoder:
        damage += (decoder.error,)
    try:
        yield from _decompressed(blocks, decoder.new) if decoder else blocks
    except damage as error:
        raise ModelError(f"{name} is damaged or incomplete ({error})", "a whole file") from None


def read_whole(stream: BinaryIO, name: Path | str) -> bytes:
    """Return the decompressed content of a stream; InputError if it is longer than FILE_BYTES."""
    content = bytearray()
    for block in decompressed(stream, name):
        content += block
        if len(content) > FILE_BYTES:
            raise InputError(f"{name} is longer than {FILE_BYTES:,} bytes", "a smaller file")
    return bytes(content)


@contextmanager
def compressing(stream: BinaryIO, path: Path) -> Iterator[Any]:
    """Yield a stream that compresses for a path that ends in gz, xz or zst; else the stream."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        import gzip

        with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as file:
            yield file
    elif suffix == ".xz":
        import lzma

        with lzma.LZMAFile(stream, "wb") as file:
            yield file
    elif suffix == ".zst":
        import zstandard

        with zstandard.ZstdCompressor().stream_writer(stream, closefd=False) as file:
            yield file
    else:
        yield stream


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
            block = decoder.unused_data.lstrip(b"\0")  # a file may be padded with zeros
            decoder = None
    if decoder:
        raise EOFError("it ends too early")


def _portions(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Cut blocks into portions of at most `size` bytes."""
    for block in blocks:
        yield from (block[start : start + size] for start in range(0, len(block), size))
