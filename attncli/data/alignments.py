"""Word alignments in files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from attncli.data.corpus import BARS
from attncli.data.lines import open_text
from attncli.terminal.messages import counted
from models.core.errors import ModelError
from models.core.limits import DIGITS, SENTENCES
from models.core.types import Link
from models.text.alignment import Alignment
from models.text.tokenizer import Tokenizer
from models.text.units import units

if TYPE_CHECKING:
    import numpy as np

# Files of word links of sentence pairs, written by other programs or by people.
# - Pharaoh, one line for each pair: `0-0 1-2`, source first. `-` is a sure link, `p` or `?` a
#   possible one, `:0.93` after a link its probability. Programs (fast_align, eflomal, Moses) count
#   from 0; the gold of awesome-align and others (`.talp`) looks the same and counts from 1.
# - NAACL, one line for each link: sentence, source word, target word, then S or P, or nothing for
#   a sure link. All three count from 1.
# Confusing the two turns an error rate of 4.07 into 43.7, so the first index is never guessed: an
# index of 0 proves 0, an index equal to the length of a sentence proves 1, and where neither occurs
# the user must give it.

Lengths = tuple[float, float]  # words of a source and of its target; infinite if unknown
Index = Literal["0", "1"]

NUMBER = rf"\d{{1,{DIGITS}}}"
PROBABILITY = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
PHARAOH = re.compile(rf"({NUMBER})([-p?])({NUMBER})(?::{PROBABILITY})?", re.ASCII)
NAACL = re.compile(
    rf"\s*({NUMBER})\s+({NUMBER})\s+({NUMBER})(?:\s+([SP]))?(?:\s+{PROBABILITY})?\s*", re.ASCII
)
UNKNOWN: Lengths = (math.inf, math.inf)
SIDES = ("source", "target")
GOLD_INDEX = "give --gold-index 0 or --gold-index 1"
SOFT = re.compile(r"[\d.\s]*\d[\s]*")  # of a source of one token
TEXTS = "the texts that were aligned, words as that program cut them"
WordLinks = tuple[Link, ...]  # of a pair: source word, target word, counted from 0


class PairLinks(NamedTuple):
    """The links of a sentence pair."""

    sure: frozenset[Link]
    possible: frozenset[Link] = frozenset()  # the sure ones too


class LinkFile(NamedTuple):
    """The links of a file, a row for each sentence pair, and how it was read."""

    rows: tuple[PairLinks, ...]
    note: str  # index of the first word, 0 or 1, and how it is known


class RawLink(NamedTuple):
    """A link as written in a file."""

    line: int  # from 1
    pair: int  # from 0
    text: str
    link: Link
    sure: bool = True


def read_links(
    path: Path,
    lengths: Sequence[Lengths] | None = None,
    *,
    index: Index | None = None,
    hint: str = GOLD_INDEX,
) -> LinkFile:
    """Return the links of a file.

    lengths: number of words on both sides of each pair, if the texts are known. index: index of the
    first word in the file, if the user gave it. hint: advice if it is needed. Raises ModelError for
    text that is not a link, for a link to a word that does not exist, for a wrong number of lines,
    and if the first index is ambiguous.
    """
    with open_text(path) as lines:
        texts = list(lines)
    is_naacl = NAACL.fullmatch(next(filter(str.strip, texts), "")) is not None
    links = [*_raw_links(path, texts, is_naacl=is_naacl)]
    pairs = max((link.pair + 1 for link in links), default=0) if is_naacl else len(texts)
    if pairs > SENTENCES:
        found = f"{path} has a link of sentence pair {pairs:,}"
        raise ModelError(found, f"at most {SENTENCES:,} pairs")
    sizes = [UNKNOWN] * pairs if lengths is None else lengths
    if pairs > len(sizes) or (pairs < len(sizes) and not is_naacl):  # the last may have no links
        found = f"{path} has links of {counted(pairs, 'sentence pair')}"
        raise ModelError(found, f"{len(sizes):,} of them")
    if index is not None:
        base, reason = int(index), f"--gold-index {index}"
    elif is_naacl:
        base, reason = 1, "NAACL files do"
    else:
        base, reason = _counted_from(path, links, sizes, hint)
    for written in links:
        if fault := _fault(written, sizes[written.pair], base):
            raise ModelError(
                f"{path}, line {written.line}: {written.text} has {fault}",
                "links between existing words",
                f"it was read as counting from {base} ({reason})",
            )
    return LinkFile(_rows(links, len(sizes), base), f"counts from {base} ({reason})")


def _rows(links: Sequence[RawLink], pairs: int, base: int) -> tuple[PairLinks, ...]:
    """Return the links of each pair, counted from 0."""
    rows: list[tuple[set[Link], set[Link]]] = [(set(), set()) for _ in range(pairs)]
    for written in links:
        for side in rows[written.pair][0 if written.sure else 1 :]:
            side.add((written.link[0] - base, written.link[1] - base))
    return tuple(PairLinks(frozenset(sure), frozenset(possible)) for sure, possible in rows)


def parse_pharaoh(text: str, where: str) -> Iterator[tuple[str, Link, bool]]:
    """Yield the links of a line: text, indices, True if sure.

    Raises ModelError, which names the place `where`, for text that is not a link.
    """
    for word in text.split():
        match = PHARAOH.fullmatch(word)
        if not match:
            raise ModelError(
                f"{where}: {word[:40]!r} is not a link",
                "links such as 0-0, 1p2, 1?2 or 0-0:0.93, or NAACL's `1 1 2 S`",
            )
        yield word, (int(match[1]), int(match[3])), match[2] == "-"


def _raw_links(path: Path, texts: Sequence[str], *, is_naacl: bool) -> Iterator[RawLink]:
    for number, text in enumerate(texts, 1):
        where = f"{path}, line {number}"
        if not is_naacl:
            for word, link, sure in parse_pharaoh(text, where):
                yield RawLink(number, number - 1, word, link, sure)
        elif text.strip():
            match = NAACL.fullmatch(text)
            if not match or int(match[1]) < 1:
                raise ModelError(
                    f"{where}: {text[:40]!r} is not a link",
                    "sentence (from 1), source word, target word, and S or P",
                )
            link = int(match[2]), int(match[3])
            yield RawLink(number, int(match[1]) - 1, " ".join(text.split()), link, match[4] != "P")


def _counted_from(
    path: Path, links: Sequence[RawLink], lengths: Sequence[Lengths], hint: str
) -> tuple[int, str]:
    """Return the first index of a file, and how it is known; a ModelError if it is not known."""
    if written := next((one for one in links if 0 in one.link), None):
        return 0, f"line {written.line} has {written.text}"
    for written in links:
        for side, number, size in zip(SIDES, written.link, lengths[written.pair], strict=True):
            if number == size:
                words = counted(number, f"{side} word")
                return 1, f"line {written.line} has {written.text}, and {words}"
    if not links:
        return 0, "it has no links"
    raise ModelError(
        f"{path} may count words from 0 or from 1", "an index of 0, or of a pair's last word", hint
    )


def _fault(written: RawLink, lengths: Lengths, base: int) -> str:
    """Return the word of a link that does not exist; empty if both exist."""
    for side, number, size in zip(SIDES, written.link, lengths, strict=True):
        if number < base:
            return f"{side} word {number}"
        if number - base >= size:
            return f"{side} word {number} of {size}"
    return ""


def read_external_alignments(
    path: Path, lengths: Sequence[tuple[int, int]]
) -> tuple[list[Alignment], str]:
    """Return the alignments of a file, without units, and how it was read.

    lengths: words of each pair.

    A file of links, or of Marian's `--alignment`: `output ||| 0-0 1-2`, or with `soft` a row for
    each output token, commas between the weights of its source tokens: `output ||| 0.9,0.1
    0.2,0.8`. These may have a row and a column for the end mark, which are left out.

    Raises ModelError for a line that is not an alignment, and for alignments of other texts.
    """
    with open_text(path) as lines:
        texts = list(lines)
    if BARS not in next(filter(str.strip, texts), ""):
        links = read_links(path, lengths, hint="")
        return [
            Alignment((), (), None, row.possible, name=path.name) for row in links.rows
        ], links.note
    if len(texts) != len(lengths):
        raise ModelError(
            f"{path} has alignments of {counted(len(texts), 'pair')}",
            f"{len(lengths)}, as the texts",
        )
    panels = [
        _panel(path.name, f"{path}, line {number}", text.rpartition(BARS)[2], *size)
        for number, (text, size) in enumerate(zip(texts, lengths, strict=True), 1)
    ]
    return panels, ""


def _panel(name: str, where: str, text: str, source: int, target: int) -> Alignment:
    """Return the alignment of one line, for a pair with these numbers of words."""
    if "," in text or SOFT.fullmatch(text):
        weights = _matrix(where, text, source, target)
        strongest = enumerate(weights.argmax(1).tolist() if weights.size else ())
        linked = frozenset((i, j) for j, i in strongest if weights[j, i] > 0)
        return Alignment((), (), weights, linked, name=name)
    links = frozenset(link for _, link, _ in parse_pharaoh(text, where))
    for i, j in links:
        if i >= source or j >= target:
            raise ModelError(f"{where}: {i}-{j} in a pair of {source} and {target} words", TEXTS)
    return Alignment((), (), None, links, name=name)


def _matrix(where: str, text: str, source: int, target: int) -> np.ndarray:
    """Return weights (J, I) without those of an end mark."""
    import numpy

    try:
        rows = [[float(number) for number in row.split(",")] for row in text.split()]
        table = numpy.array(rows)
        if table.ndim != 2 or not numpy.isfinite(table).all():
            raise ValueError
    except ValueError:
        raise ModelError(f"{where} has no table of weights", "rows of equal length") from None
    for size, there, side in zip((target, source), table.shape, ("target", "source"), strict=True):
        if there - size not in (0, 1):
            raise ModelError(
                f"{where} has weights of {there} {side} tokens, the text {size} words", TEXTS
            )
    return table[:target, :source]


def read_word_links(path: Path, total: int, unit: str = "pair") -> list[WordLinks]:
    """Return the links of each of `total` lines in Pharaoh's form, counted from 0.

    Raises ModelError if the file does not fit.
    """
    lines = path.read_text("utf-8").splitlines()
    if len(lines) != total:
        raise ModelError(
            f"{path} has {counted(len(lines), 'line')} for {total:,} {unit}s",
            f"a line of links for each {unit}",
        )
    return [
        tuple(link for _, link, _ in parse_pharaoh(text, f"{path}, line {number}"))
        for number, text in enumerate(lines, 1)
    ]


def token_links(
    links: WordLinks, source: Sequence[int], target: Sequence[int], tokenizer: Tokenizer
) -> np.ndarray:
    """Return the linked tokens (N, 2) of a pair: source token, target token.

    A link between words becomes links between all their tokens; punctuation that is attached to a
    word is left out.
    """
    sides = (tokenizer.source, source), (tokenizer.target, target)
    return linked(links, *(units(*side, marks=False).shares.T.numpy() > 0 for side in sides))


def cell_links(
    links: WordLinks, cells: int, target: Sequence[int], tokenizer: Tokenizer
) -> np.ndarray:
    """Return the links of an image's cells and the tokens of a caption (N, 2): cell, token."""
    import numpy as np

    words = units(tokenizer.target, target, marks=False).shares.T.numpy() > 0
    return linked(links, np.eye(cells, dtype=bool), words)


def linked(links: WordLinks, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the linked tokens (N, 2), given the tokens of the units of either side."""
    import numpy as np

    found: list[tuple[int, int]] = []
    for i, j in links:
        if i >= len(source) or j >= len(target):
            raise ModelError(
                f"link {i}-{j} of a pair with {len(source)} source and {len(target)} target units",
                "links between units of the pair, counted from 0",
            )
        found += product(source[i].nonzero()[0].tolist(), target[j].nonzero()[0].tolist())
    return np.array(found, np.int64).reshape(-1, 2)
