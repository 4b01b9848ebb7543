r"""Lines of a byte stream under the pipe contract, or typed by a person, a chunk at a time.

A file is read in large chunks, which are sorted into batches by length. From a pipe or terminal, a
chunk has the complete lines that have arrived: a program receives its answer at once, and ``cat
big |`` still fills batches. Lines end at ``\n`` only; memory does not grow with the input.
"""

from __future__ import annotations

import codecs
import io
import itertools
import os
import re
import select
import stat
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

from attncli.data.streams import (
    WESTERN,
    decompressed,
    is_compressed,
    matching,
    open_input,
    western,
)
from attncli.faithful.result import Line
from attncli.terminal import console
from models.core.errors import InputError
from models.core.limits import LINE_BYTES
from models.text.normalise import nfc

Received = TypeVar("Received", bytes, bytes | None)
BLOCK = 1 << 16  # bytes of one read; what a pipe holds
CHUNK_LINES = 2000  # lines of one chunk, at most
# memory must not grow with the input, whatever the length of its lines
CHUNK_BYTES = 1 << 20  # bytes of one chunk, unless a single line has more
BINARY = (b"PK\x03\x04", b"%PDF-", b"\xd0\xcf\x11\xe0", b"{\\rtf")  # Office, PDF
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # Excel's "Unicode text" begins so
MAIL_FIELD = re.compile(r"([!-9;-~]+):\s|[ \t]+\S")  # or the rest of the field before it
MAIL = "mail is not read: save its body as FILE.txt"
NOT_UTF_8 = "not valid UTF-8"
FIRST_LINES = 32  # of the first chunk of a pipe; each next one may be twice as long
# small at first, so that the first output does not wait for thousands of lines
FIRST_OF_FILE = 125  # lines; each next chunk may have four times as many
PROMPT = "> "


def read_chunks(stream: BinaryIO) -> Iterator[list[Line]]:
    """Yield the lines of a stream in order, in chunks of at least one line.

    Raises InputError for content that `check_text` refuses.
    """
    number, remarked = 1, False
    for lines in _chunks(stream):
        if number == 1:
            check_text(lines[0], _name(stream))
        chunk = [decode(line, number + i) for i, line in enumerate(lines)]
        bad = [n for n, line in enumerate(chunk) if line.fault.startswith(NOT_UTF_8)]
        # judged together, because one line has too few letters
        if bad and western(b"".join(lines[n] for n in bad)):
            if not remarked:
                console.warn(f"line {number + bad[0]} is not UTF-8: read as Windows-1252")
            remarked = True
            for n in bad:
                body = lines[n].removesuffix(chunk[n].ending.encode())
                chunk[n] = chunk[n]._replace(text=body.decode(WESTERN), fault="")
        yield chunk
        number += len(lines)


def _chunks(stream: BinaryIO) -> Iterator[list[bytes]]:
    """Yield the lines of a stream in chunks, which grow; never wait with a line in hand."""
    raw = getattr(stream, "raw", stream)
    descriptor = raw.fileno() if isinstance(raw, io.FileIO) else None  # None: decoded
    is_file = descriptor is None or stat.S_ISREG(os.fstat(descriptor).st_mode)
    # a pipe may end at any time, so its chunks grow more slowly
    most, growth = (FIRST_OF_FILE, 4) if is_file else (FIRST_LINES, 2)
    if descriptor is None:
        blocks: Iterator[bytes | None] = iter(lambda: stream.read(BLOCK), b"")
    else:
        blocks = _blocks(stream, descriptor, is_file)
    chunk, size = list[bytes](), 0
    for line in itertools.chain(byte_lines(blocks), [None]):
        if line is not None:
            chunk.append(line)
            size += len(line)
        if chunk and (line is None or len(chunk) == most or size >= CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
            most = min(growth * most, CHUNK_LINES)


def _blocks(stream: BinaryIO, descriptor: int, is_file: bool) -> Iterator[bytes | None]:
    """Yield the bytes of a stream as they arrive, decompressed; None before it must be waited."""
    block = os.read(descriptor, BLOCK)
    if is_compressed(block):
        yield from decompressed(stream, _name(stream), block)
        return
    while block:
        yield block
        try:
            # a program at the other end waits for the answer to its line before it writes the next
            arrived = is_file or bool(select.select([descriptor], [], [], 0)[0])
        except (OSError, ValueError):  # pipes cannot be asked on Windows
            arrived = False
        if not arrived:
            yield None
        block = os.read(descriptor, BLOCK)


def _name(stream: BinaryIO) -> str:
    """Return what a message calls a stream: its file, or "the input"."""
    name = getattr(stream, "name", "")
    return name if isinstance(name, str) and name[:1] not in ("", "<") else "the input"


def check_text(head: bytes, name: Path | str) -> None:
    """Raise InputError for content that has no lines to read.

    These are UTF-16, files of other programs, and lines that end at carriage returns alone. All
    readers of lines call it. head: the first line, or the whole content.
    """
    if head.startswith(BINARY):
        raise InputError(f"{name} is not text", "text, or a document with the end of its name")
    if head.startswith(UTF_16_MARKS):
        hint = "convert it: iconv -f UTF-16 -t UTF-8"
        raise InputError(f"{name} in UTF-16", "UTF-8", hint)
    if b"\n" not in head and b"\r" in head.rstrip(b"\r"):
        raise InputError(
            f"{name} has line ends of carriage returns alone",
            "lines that end with a line feed",
            "convert it: tr '\\r' '\\n'",
        )


def is_mail(lines: Iterable[str]) -> bool:
    """Return True if lines begin as a mail: with fields, From and Subject or MIME-Version too."""
    names = set()
    for line in itertools.takewhile(str.strip, lines):
        field = MAIL_FIELD.match(line)
        if not field:
            return False
        names.add((field[1] or "").lower())
    return "from" in names and not names.isdisjoint(("subject", "mime-version"))


def decode(line: bytes, number: int) -> Line:
    """Return a line from its bytes, which include the line end if there was one."""
    if len(line) > LINE_BYTES:
        return Line(number, "", fault=f"longer than {LINE_BYTES >> 20} MiB")
    ending = "\r\n" if line.endswith(b"\r\n") else "\n"
    body = line.removesuffix(ending.encode())
    if number == 1:
        body = body.removeprefix(b"\xef\xbb\xbf")  # a byte order mark is not text
    try:
        return Line(number, body.decode("utf-8"), ending)
    except UnicodeDecodeError as error:
        fault = f"{NOT_UTF_8} (byte 0x{body[error.start]:02x} at position {error.start + 1})"
        return Line(number, body.decode("utf-8", "replace"), ending, fault)


def input_chunks(stream: BinaryIO, what: str = "sentence") -> Iterator[list[Line]]:
    """Yield the chunks of a stream: of a terminal one for each line, until Ctrl-D.

    A person gets a prompt. If input and output are both the terminal, lines can be edited and
    recalled (readline). Otherwise the prompt is on stderr, so that results can be redirected.
    """
    if not stream.isatty():
        yield from read_chunks(stream)
        return
    console.say(f"One {what} per line; Ctrl-D ends.")
    if stream is sys.stdin.buffer and sys.stdout is not None and sys.stdout.isatty():
        yield from _edited()
    else:
        console.prompt(PROMPT)
        for chunk in read_chunks(stream):
            yield chunk
            console.prompt(PROMPT)
    console.say("")


def _edited() -> Iterator[list[Line]]:
    with suppress(ImportError):
        import readline  # noqa: F401  # input() edits lines where this is there
    if hasattr(sys.stdin, "reconfigure"):
        # bytes that are not UTF-8 reach `decode`, which names them
        sys.stdin.reconfigure(errors="surrogateescape")
    with suppress(EOFError):
        for number in itertools.count(1):
            text = input(PROMPT)
            yield [decode(text.encode(sys.stdin.encoding, "surrogateescape"), number)]


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
                if number == 1:
                    check_text(content, path)
                line = decode(content, number)
                if line.fault:
                    raise InputError(
                        f"{path}, line {number} is {line.fault}",
                        f"UTF-8 in lines of at most {LINE_BYTES >> 20} MiB",
                        "convert the file, as with `iconv -f LATIN1 -t UTF-8`",
                    )
                yield form(line.text.rstrip("\r"))


def byte_lines(blocks: Iterable[Received]) -> Iterator[Received]:
    """Yield the lines of some blocks, with their ends; None for None.

    An over-long line is cut just above the limit of `decode`.
    """
    partial = bytearray()
    for block in blocks:
        if block is None:
            yield block
            continue
        # at line feeds alone: str.splitlines would also cut at characters such as U+2028 inside a
        # sentence
        first, *others = block.split(b"\n")
        # more of an over-long line is not kept, because it is refused anyway
        if len(partial) <= LINE_BYTES:
            partial += first
        for line in others:
            yield bytes(partial) + b"\n"
            partial = bytearray(line)
    if partial:
        yield bytes(partial)
