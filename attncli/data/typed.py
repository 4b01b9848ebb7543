"""Lines typed by a person, with a prompt.

If input and output are both the terminal, lines can be edited and recalled (readline). Otherwise
the prompt is written to stderr, so that the results can be redirected.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

from attncli.data.lines import Line, decode, read_chunks
from attncli.terminal import console

PROMPT = "> "


def input_chunks(stream: BinaryIO, what: str = "sentence") -> Iterator[list[Line]]:
    """Yield the chunks of a stream: of a terminal one for each line, until Ctrl-D."""
    if not stream.isatty():
        yield from read_chunks(stream)
        return
    console.say(f"One {what} per line; Ctrl-D ends.")
    if stream is sys.stdin.buffer and sys.stdout is not None and sys.stdout.isatty():
        yield from _edited()
    else:
        yield from _prompted(stream)


def _edited() -> Iterator[list[Line]]:
    with suppress(ImportError):
        import readline  # noqa: F401  # input() edits lines where this is there
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="surrogateescape")
    for number in itertools.count(1):
        try:
            text = input(PROMPT)
        except EOFError:
            console.say("")
            return
        yield [decode(text.encode(sys.stdin.encoding, "surrogateescape"), number)]


def _prompted(stream: BinaryIO) -> Iterator[list[Line]]:
    console.prompt(PROMPT)
    for chunk in read_chunks(stream):
        yield chunk
        console.prompt(PROMPT)
    console.say("")
