r"""Files of text as lines, plain or compressed.

Lines end at ``\n`` only; a ``\r`` before it and a byte order mark are removed. Decomposed accents
are composed (Unicode NFC), because models read their input so. Compressed files are decompressed
(`compression`). Only the current block is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from pathlib import Path

from attncli.data.compression import decompressed, read_whole
from attncli.data.lines import UTF_16_MARKS, decode
from attncli.data.streams import matching, open_input
from models.base.errors import InputError
from models.base.limits import LINE_BYTES
from models.text.normalise import nfc

MARK = b"\xef\xbb\xbf"  # a byte order mark


def open_text(path: Path | str, *, as_written: bool = False) -> closing[Generator[str]]:
    """Open a file, or standard input for ``-``, as decompressed lines.

    The files that match a pattern (`streams.matching`) are read one after another. as_written: True
    leaves decomposed accents, for lines with names of files.
    """
    return closing(_lines(matching(path), str if as_written else nfc))


def _lines(paths: Iterable[Path], form: Callable[[str], str]) -> Generator[str]:
    """Yield the lines of files in a Unicode form; InputError for one that cannot be decoded."""
    for path in paths:
        with open_input(path) as stream:
            for number, content in enumerate(byte_lines(decompressed(stream, path)), 1):
                line = decode(content, number)
                if line.fault:
                    encoding = "UTF-16" if content.startswith(UTF_16_MARKS) else "LATIN1"
                    raise InputError(
                        f"{path}, line {number} is {line.fault}",
                        f"UTF-8 in lines of at most {LINE_BYTES >> 20} MiB",
                        f"convert the file, as with `iconv -f {encoding} -t UTF-8`",
                    )
                yield form(line.text.rstrip("\r"))


def read_content(path: Path | str) -> bytes:
    """Return the decompressed content of a file, without a byte order mark."""
    path = Path(path)
    with open_input(path) as stream:
        return read_whole(stream, path).removeprefix(MARK)


def read_head(path: Path | str) -> bytes:
    """Return the first decompressed bytes of a file, without a byte order mark."""
    path = Path(path)
    with open_input(path) as stream:
        return next(decompressed(stream, path), b"").removeprefix(MARK)


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
