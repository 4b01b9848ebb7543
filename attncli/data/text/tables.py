"""Text files and tables."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from attncli.data.dev_split import SEED
from attncli.data.lines import UTF_16_MARKS, decode
from attncli.data.streams import decompressed, matching, open_input, read_whole
from attncli.terminal import console
from attncli.terminal.messages import counted
from models.base.errors import InputError, ModelError
from models.base.limits import LINE_BYTES
from models.text.languages import Glossary, Term
from models.text.normalise import nfc

# Files of text as lines, plain or compressed.
#
# Lines end at ``\n`` only; a ``\r`` before it and a byte order mark are removed. Decomposed accents
# are composed (Unicode NFC), because models read their input so. Compressed files are decompressed
# (`compression`). Only the current block is in memory.


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


# First rows that name columns, and columns of numbers, in tables and parallel files.


Row = TypeVar("Row", bound=Sequence[str])

HEAD = 50  # rows by which a column of numbers is recognised
LEAST = 3
NUMBER = re.compile(r"[\s\d.,:;%/+-]*\d[\s\d.,:;%/+-]*")
NAME = re.compile(  # of a column, in lower case
    "labels?|class|category|intent|topic|sentiment|tag|annotation|texts?|sentences?|utterance|"
    "content|document|query|source|src|source_text|input|target|tgt|target_text|output|translation|"
    "reference|id|nr|no|number|index|score|line|ar|bg|ca|cs|da|de|el|en|es|et|fa|fi|fr|hr|hu|ja|ko|"
    "lt|lv|nb|nl|nn|pl|pt|ro|ru|sk|sl|sv|tr|uk|vi|zh|eng|deu|ger|fra|fre|spa|ita|nld|por|rus|"
    "english|german|french|spanish|italian|dutch|portuguese|russian|chinese|japanese|deutsch|"
    "englisch|français|español|italiano|nederlands"
)


def is_header(row: Sequence[str]) -> bool:
    """Return True if a first row has two or more cells, different names of columns."""
    cells = [re.sub(r"[\s_-]*\d*$", "", cell.strip().strip("#\"'").lower()) for cell in row]
    names = [re.sub(r"^(text|source|target|sentence|src|tgt)[\s_-]", "", cell) for cell in cells]
    return len(names) > 1 and len({*names}) > 1 and all(map(NAME.fullmatch, names))


def without_header(rows: Iterator[Row], name: str, *, column: int = 0) -> Iterator[Row]:
    """Yield the rows of a table or of parallel files, without a first row that names the columns.

    name: of the files, for messages. column: that of the texts to read, which is reported if it has
    numbers alone. Raises InputError if it is one of three or more columns.
    """
    head = list(islice(rows, HEAD))
    if len(head) > 1 and is_header(head[0]):
        _say(f"{name}: line 1 ({', '.join(head[0])}) names the columns, and is left out")
        del head[0]
    _check_numbers(head, name, column)
    yield from chain(head, rows)


def _check_numbers(rows: Sequence[Sequence[str]], name: str, column: int) -> None:
    """Report texts that are numbers alone, beside texts that are not."""
    filled = [row for row in rows if len(row) > column and row[column].strip()]
    if len(filled) < LEAST or not all(NUMBER.fullmatch(row[column]) for row in filled):
        return
    others = [cell for row in filled for n, cell in enumerate(row) if n != column]
    if all(NUMBER.fullmatch(cell) for cell in others if cell.strip()):
        return
    found = f"column {column + 1} of {name} has numbers alone"
    if min(map(len, filled)) > 2:
        raise InputError(found, "text in it", "remove the column, as with `cut -f2-`")
    _warn(f"{found}: it is read as text; remove the column if it counts or scores the rows")


@cache
def _say(message: str) -> None:
    """Say a message once, although files are read several times."""
    console.say(message)


@cache
def _warn(message: str) -> None:
    console.warn(message)


MOST_DEV = 2000  # distinct texts that are set aside for evaluation, at most
MORE_LABELS = 2  # labels per different text, above which the columns must be exchanged


class LabelledText(NamedTuple):
    """A text and its label."""

    label: str
    text: str


def read_labelled(path: Path | str) -> list[LabelledText]:
    """Return the rows of a table.

    Raises ModelError for a row without a tab or a label, and for a table without any text.
    """
    with open_text(path) as lines:
        cells = without_header(_labelled(path, lines), Path(path).name, column=1)
        rows = [LabelledText(label.strip(), text) for label, text, *_ in cells]
    if not any(row.text.strip() for row in rows):
        raise ModelError(f"{path} has no texts", "rows of label, tab, text")
    return rows


def _labelled(path: Path | str, lines: Iterable[str]) -> Iterator[list[str]]:
    for number, line in enumerate(lines, 1):
        label, tab, rest = line.partition("\t")
        if not line.strip():
            continue
        if not tab or not label.strip():
            raise ModelError(
                f"{path}, line {number} has no {'label' if tab else 'tab'}", "label, tab, text"
            )
        yield [label, *rest.split("\t")]


def check_order(rows: Sequence[LabelledText], path: str) -> None:
    """Raise InputError for a table whose columns are exchanged: many labels for a few texts."""
    labels, texts = ({row[column] for row in rows} for column in range(2))
    if len(labels) > MORE_LABELS * len(texts):
        raise InputError(
            f"{path} has {len(labels):,} labels for {counted(len(texts), 'different text')}",
            "label, tab, text in each line",
            "exchange the columns",
        )


def set_aside(
    rows: Sequence[LabelledText], share: float, seed: int = SEED
) -> tuple[list[LabelledText], list[LabelledText]]:
    """Return the rows for training and those for evaluation; no text is in both.

    share: of the distinct texts, sampled by the seed; at most MOST_DEV of them.
    """
    texts = list(dict.fromkeys(row.text for row in rows))
    count = min(round(share * len(texts)), MOST_DEV, len(texts) - 1)
    held = set(random.Random(seed).sample(texts, max(count, 1))) if share else set()
    return [row for row in rows if row.text not in held], [row for row in rows if row.text in held]


def read_glossary(path: Path) -> Glossary:
    """Read a glossary; empty lines are skipped.

    Raises InputError for another line, and for a term that has two translations.
    """
    terms: dict[str, Term] = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            source, _, target = (part.strip() for part in line.partition("\t"))
            if source and target and "\t" not in target:
                term = Term(source, target)
                if terms.setdefault(source.casefold(), term).target != target:
                    raise InputError(
                        f"{path}, line {number} has another translation of '{source}'",
                        "each term once",
                    )
            elif line.strip():
                raise InputError(
                    f"{path}, line {number} is not an entry of a glossary",
                    "source term, tab, target term",
                )
    if not terms:
        raise InputError(f"{path} is empty", "a term on each line")
    return Glossary(tuple(terms.values()))
