"""Sentence pairs in files, and the dev set that is held out of them."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple, cast

from attncli.data.lines import CHUNK_LINES, open_text
from attncli.data.streams import decompressed, matching, open_input
from attncli.data.tables import WITH_TABS, without_header
from attncli.faithful.result import Line
from attncli.terminal.messages import counted
from models.core.errors import ModelError

LICENCE = re.compile(r"CC-BY .*Attribution: tatoeba\.org")  # third column of the tables of Anki
HEAD = 500  # lines by which a source is told from references
MAX_DEV_SOURCES = 500  # they are decoded at every evaluation
MIN_DEV_SOURCES = 10  # scores of fewer sources say little
# runs of several seeds must have one dev set, or their scores could not be compared
SEED = 1  # of the choice
SMALL_DEV_SOURCES = 5  # of a run from a trained model, which has little data, or of many corpora
BARS = "|||"  # as fast_align, Moses and others write pairs


class CorpusPair(NamedTuple):
    """A source line and its reference translations."""

    source: str
    references: tuple[str, ...]  # at least one; pairs of a table may have different numbers


def read_pairs(paths: Sequence[Path | str]) -> Iterator[CorpusPair]:
    """Yield the pairs of a corpus, in order.

    paths: one file for the source and one for each reference, or a single table. Raises ModelError
    for files that cannot be read, are empty, or have different numbers of lines.
    """
    names = " ".join(Path(path).name for path in paths)
    rows: Iterator[Sequence[str]] = aligned(paths)
    if len(paths) == 1:
        rows = table_rows(Path(paths[0]), (line for [line] in rows))
    for source, *references in without_header(rows, names):
        yield CorpusPair(source, tuple(references))


def reference_columns(pairs: Sequence[CorpusPair]) -> list[list[str]]:
    """Return a list of all first references, of all second ones and so on; None: one is missing.

    sacreBLEU leaves out None. The type has no None because every pair has a first reference, and
    the others are only scored.
    """
    columns = zip_longest(*(pair.references for pair in pairs), fillvalue=None)
    return cast("list[list[str]]", [list(column) for column in columns])


def fingerprint(paths: Sequence[Path | str]) -> str:
    """Return a hash of a corpus that depends on its content, not on paths or compression."""
    digest = hashlib.sha256()
    references = (f"reference {n}" for n in range(1, len(paths)))
    names = ["source", *references] if len(paths) > 1 else ["table"]
    for column, path in zip(names, paths, strict=True):
        digest.update(f"{column} {_content_hash(Path(path))}\n".encode())
    return digest.hexdigest()


def aligned(paths: Sequence[Path | str], *, as_written: bool = False) -> Iterator[tuple[str, ...]]:
    """Yield the lines of several files in parallel; ModelError if their numbers differ.

    as_written: see `open_text`.
    """
    if [*map(str, paths)].count("-") > 1:
        raise ModelError("standard input is given twice", "a file for each other column")
    with ExitStack() as stack:
        columns = [stack.enter_context(open_text(path, as_written=as_written)) for path in paths]
        number = 0
        for number, row in enumerate(zip_longest(*columns), 1):
            texts = tuple(text for text in row if text is not None)
            if len(texts) < len(row):
                longer = paths[row.index(texts[0])]
                found = f"{paths[row.index(None)]} has {counted(number - 1, 'line')}, {longer} more"
                raise ModelError(found, "as many lines in each file", "line n belongs to line n")
            yield texts
    if not number:
        raise ModelError(f"{paths[0]} is empty", "a sentence on each line")


def separator_of(line: str) -> str:
    """Return the column separator of a line: a tab or, in a line without tabs, `|||`."""
    return BARS if BARS in line and "\t" not in line else "\t"


def cells(line: str, separator: str) -> list[str]:
    """Return the columns of a line, without the spaces around `|||`."""
    row = line.split(separator)
    return [cell.strip(" ") for cell in row] if separator == BARS else row


def table_rows(path: Path, lines: Iterator[str]) -> Iterator[list[str]]:
    """Yield the columns of each line of a table: a source and one or more references.

    path: the file, for messages. Raises ModelError for a line of one column, and without lines.
    """
    number, separator = 0, ""
    for number, line in enumerate(lines, 1):
        if not line.strip():  # as an empty line in each of two files
            yield ["", ""]
            continue
        separator = separator or separator_of(line)
        row = cells(line, separator)
        if len(row) < 2:
            raise ModelError(
                f"{path}, line {number} has no {BARS if separator == BARS else 'tab'}",
                "source, tab, translation",
                f"{WITH_TABS}; give two files if this is the source alone",
            )
        source, target, *others = row
        yield [source, target, *(text for text in others if not LICENCE.match(text))]
    if not number:
        raise ModelError(f"{path} is empty", "a sentence on each line")


def is_source(path: Path, references: Sequence[Path], outputs: Sequence[Path]) -> bool:
    """Return True if a file has far fewer words of the outputs than one of the references has."""
    files = (path, *references, *outputs)
    if not outputs or "-" in map(str, files):
        return False
    first, *others = map(_first_units, files)
    shared = most = 0.0
    for each in others[len(references) :]:
        shared += _shared(first, each)
        most += max(_shared(one, each) for one in others[: len(references)])
    # names and numbers are equal in every language, so a source shares some words too
    return shared < most / 2


def _first_units(path: Path) -> list[set[str]]:
    """Return the words of each of the first lines; of one without spaces, its characters."""
    with open_text(path) as lines:
        texts = [line.strip() for line in islice(lines, HEAD)]
    return [set(text.lower().split() if " " in text else text) for text in texts]


def _shared(texts: Sequence[set[str]], outputs: Sequence[set[str]]) -> float:
    """Return the mean share of the words of an output that its text has, too."""
    pairs = [(text, output) for text, output in zip(texts, outputs, strict=False) if output]
    return sum(len(text & output) / len(output) for text, output in pairs) / max(1, len(pairs))


def _content_hash(path: Path) -> str:
    digest, files = hashlib.sha256(), matching(path)
    if len(files) > 1:
        return hashlib.sha256(" ".join(map(_content_hash, files)).encode()).hexdigest()
    with open_input(files[0]) as stream:
        for block in decompressed(stream, files[0]):
            digest.update(block)
    return digest.hexdigest()


class PairLine(NamedTuple):
    """A source and its translation."""

    number: int  # from 1
    source: str
    target: str
    ending: str = "\n"
    fault: str = ""  # why there is no pair


def pairs_of_files(source: Path, target: Path) -> Iterator[list[PairLine]]:
    """Yield the pairs of two parallel files; a ModelError if one has more lines.

    Accents stay as written, as in `pair_of`; the model that reads a pair composes them.
    """
    rows = enumerate(aligned([source, target], as_written=True), 1)
    while chunk := [PairLine(number, *row) for number, row in islice(rows, CHUNK_LINES)]:
        yield chunk


def pair_of(line: Line) -> PairLine:
    """Return the pair of a line."""
    number, text, ending, fault, *_ = line
    row = cells(text, separator_of(text))
    if not fault and text.strip() and len(row) < 2:
        fault = f"without a tab or {BARS} between source and target"
    source, target = ("", "") if fault or len(row) < 2 else row[:2]
    return PairLine(number, source, target, ending, fault)


def held_out(
    pairs: Iterable[tuple[str, str]],
    share: float,
    *,
    seed: int = SEED,
    few: bool = False,
    most: int = MAX_DEV_SOURCES,
) -> dict[str, str]:
    """Return a share of the distinct sources of pairs without an empty side, each with a target.

    All examples of a source are held out, so no source is in both sets. The choice is by a hash; it
    depends on the set of sources, not on their order, nor on train.seed: runs of several seeds have
    one dev set. They are at most `most`, and none if that is fewer than MIN_DEV_SOURCES. few:
    SMALL_DEV_SOURCES of at least 20 sources are enough, even if that is a larger share.
    """
    if not share:
        return {}
    enough = math.ceil(most / share)  # distinct sources; counting stops there
    distinct: set[int] = set()
    smallest: dict[int, tuple[str, str]] = {}  # by the hash of the source, in order
    largest = 1 << 64  # hash among them, if these are `most`
    for source, target in pairs:
        key = f"{seed} {source}".encode("utf-8", "surrogatepass")
        number = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")
        if number > largest or not (source.strip() and target.strip()):
            continue
        if len(distinct) < enough:
            distinct.add(number)
        smallest.setdefault(number, (source, target))
        if len(smallest) > most:
            del smallest[max(smallest)]
            largest = max(smallest) if len(distinct) >= enough else largest
    count = min(most, int(share * len(distinct)))
    if few and len(distinct) >= 4 * SMALL_DEV_SOURCES:
        count = max(count, SMALL_DEV_SOURCES)
    elif count < MIN_DEV_SOURCES:
        return {}
    chosen = {*sorted(smallest)[:count]}
    return dict(pair for number, pair in smallest.items() if number in chosen)
