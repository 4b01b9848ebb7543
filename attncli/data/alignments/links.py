"""Files of word links of sentence pairs, written by other programs or by people.

- Pharaoh, one line for each pair: `0-0 1-2`, source first. `-` is a sure link, `p` or `?` a
  possible one, `:0.93` after a link its probability. Programs (fast_align, eflomal, Moses) count
  from 0; the gold of awesome-align and others (`.talp`) looks the same and counts from 1.
- NAACL, one line for each link: sentence, source word, target word, then S or P, or nothing for
  a sure link. All three count from 1.

Confusing the two turns an error rate of 4.07 into 43.7, so the first index is never guessed: an
index of 0 proves 0, an index equal to the length of a sentence proves 1, and where neither occurs
the user must give it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from attncli.data.text.text_files import open_text
from attncli.terminal.plurals import counted
from models.base.errors import ModelError
from models.base.limits import DIGITS, SENTENCES
from models.base.types import Link

Lengths = tuple[int | None, int | None]  # words of a source and of its target, where known
Index = Literal["0", "1"]

NUMBER = rf"\d{{1,{DIGITS}}}"
PROBABILITY = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
PHARAOH = re.compile(rf"({NUMBER})([-p?])({NUMBER})(?::{PROBABILITY})?", re.ASCII)
NAACL = re.compile(
    rf"\s*({NUMBER})\s+({NUMBER})\s+({NUMBER})(?:\s+([SP]))?(?:\s+([0-9.]+))?\s*", re.ASCII
)
UNKNOWN: Lengths = (None, None)
SIDES = ("source", "target")


class PairLinks(NamedTuple):
    """The links of a sentence pair."""

    sure: frozenset[Link]
    possible: frozenset[Link] = frozenset()  # the sure ones too


NO_LINKS = PairLinks(frozenset(), frozenset())


class LinkFile(NamedTuple):
    """The links of a file, a row for each sentence pair, and how it was read."""

    rows: tuple[PairLinks, ...]
    base: int  # index of the first word: 0 or 1
    reason: str  # how that is known
    left_out: int = 0  # number of links to words that do not exist


class RawLink(NamedTuple):
    """A link as written in a file."""

    line: int  # from 1
    pair: int  # from 0
    text: str
    link: Link
    sure: bool = True


class ParsedLinks(NamedTuple):
    """Links of a file before they are checked, and its number of pairs."""

    links: list[RawLink]
    pairs: int
    style: Literal["Pharaoh", "NAACL"]


def read_links(
    path: Path,
    lengths: Sequence[Lengths] | None = None,
    *,
    index: Index | None = None,
    option: str = "--gold-index ",
    skip_bad: bool = False,
) -> LinkFile:
    """Return the links of a file.

    lengths: number of words on both sides of each pair, None for an unknown text. index: index of
    the first word in the file, if the user gave it with `option`. skip_bad: leave out and count
    links to words that do not exist. Raises ModelError for text that is not a link, for a link to
    a word that does not exist, for a wrong number of lines, and if the first index is ambiguous.
    """
    found = parse(path, len(lengths) if lengths is not None else None)
    base, reason = _counted_from(path, found, lengths, index, option)
    good, bad = [], 0
    for written in found.links:
        fault = _fault(written, base, lengths)
        if fault and not skip_bad:
            raise ModelError(
                f"{path}, line {written.line}: {written.text} {fault}",
                "links between existing words",
                f"it was read as counting from {base} ({reason}); {option} sets that, "
                "-s links.skip_bad=true leaves such links out",
            )
        bad += bool(fault)
        good += [] if fault else [written]
    return LinkFile(_rows(good, found.pairs, base), base, reason, bad)


def parse(path: Path, pairs: int | None = None) -> ParsedLinks:
    """Parse a file of either style. pairs: the expected number of pairs, if known."""
    with open_text(path) as lines:
        texts = list(lines)
    style = _style(texts)
    if style == "NAACL":
        links = list(_naacl(path, texts))
        count = max((link.pair for link in links), default=-1) + 1
    else:
        links, count = list(_pharaoh(path, texts)), len(texts)
    if count > SENTENCES:
        raise ModelError(
            f"{path} has a link of sentence pair {count:,}", f"at most {SENTENCES:,} pairs"
        )
    if pairs is not None and (count > pairs or (count < pairs and style == "Pharaoh")):
        raise ModelError(
            f"{path} has links of {counted(count, 'sentence pair')}", f"{pairs:,} of them"
        )
    return ParsedLinks(links, count if pairs is None else pairs, style)


def parse_pharaoh(text: str) -> Iterator[tuple[str, Link, bool]]:
    """Yield the links of a line: text, indices, True if sure.

    Raises ValueError with the text that is not a link.
    """
    for word in text.split():
        match = PHARAOH.fullmatch(word)
        if not match:
            raise ValueError(word)
        yield word, (int(match[1]), int(match[3])), match[2] == "-"


def _style(texts: Iterable[str]) -> Literal["Pharaoh", "NAACL"]:
    for text in texts:
        if text.strip():
            return "NAACL" if NAACL.fullmatch(text) else "Pharaoh"
    return "Pharaoh"


def _pharaoh(path: Path, texts: Sequence[str]) -> Iterator[RawLink]:
    for number, text in enumerate(texts, 1):
        try:
            for word, link, sure in parse_pharaoh(text):
                yield RawLink(number, number - 1, word, link, sure)
        except ValueError as error:
            raise ModelError(
                f"{path}, line {number}: {str(error)[:40]!r} is not a link",
                "links such as 0-0, 1p2, 1?2 or 0-0:0.93, or NAACL's `1 1 2 S`",
            ) from None


def _naacl(path: Path, texts: Sequence[str]) -> Iterator[RawLink]:
    for number, text in enumerate(texts, 1):
        if not text.strip():
            continue
        match = NAACL.fullmatch(text)
        if not match or int(match[1]) < 1:
            raise ModelError(
                f"{path}, line {number}: {text[:40]!r} is not a link",
                "sentence (from 1), source word, target word, and S or P",
            )
        try:
            float(match[5] or 0)
        except ValueError:
            raise ModelError(
                f"{path}, line {number}: {match[5]!r:.40} is not a probability"
            ) from None
        link = int(match[2]), int(match[3])
        text = " ".join(text.split())
        yield RawLink(number, int(match[1]) - 1, text, link, match[4] != "P")


def _counted_from(
    path: Path,
    found: ParsedLinks,
    lengths: Sequence[Lengths] | None,
    index: Index | None,
    option: str,
) -> tuple[int, str]:
    """Return the first index of a file, and how it is known; a ModelError if it is not known."""
    if index is not None:
        return int(index), f"{option}{index}"
    if found.style == "NAACL":
        return 1, "NAACL files do"
    for written in found.links:
        if 0 in written.link:
            return 0, f"line {written.line} has {written.text}"
    for written in found.links:
        sizes = lengths[written.pair] if lengths else UNKNOWN
        for side, number, size in zip(SIDES, written.link, sizes, strict=True):
            if number == size:
                words = f"{size} {side} word{'s' * (size != 1)}"
                return 1, f"line {written.line} has {written.text}, and {words}"
    if not found.links:
        return 0, "it has no links"
    raise ModelError(
        f"{path} may count words from 0 or from 1",
        "an index of 0, or of a pair's last word",
        f"give {option}0 or {option}1",
    )


def _fault(written: RawLink, base: int, lengths: Sequence[Lengths] | None) -> str:
    """Return why a link is impossible; empty if it is possible."""
    sizes = lengths[written.pair] if lengths else UNKNOWN
    for side, number, size in zip(SIDES, written.link, sizes, strict=True):
        if number < base:
            return f"has {side} word {number}"
        if size is not None and number - base >= size:
            return f"has {side} word {number} of {size}"
    return ""


def _rows(links: Iterable[RawLink], pairs: int, base: int) -> tuple[PairLinks, ...]:
    by_pair: dict[int, list[RawLink]] = {}
    for written in links:
        by_pair.setdefault(written.pair, []).append(written)
    return tuple(_row(by_pair[n], base) if n in by_pair else NO_LINKS for n in range(pairs))


def _row(links: list[RawLink], base: int) -> PairLinks:
    """Return the links of one pair, counted from 0."""
    places = [(one.link[0] - base, one.link[1] - base) for one in links]
    return PairLinks(
        frozenset(place for place, one in zip(places, links, strict=True) if one.sure),
        frozenset(places),
    )
