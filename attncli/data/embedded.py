"""Embedded training data: English and German sentence pairs, with the links between their words.

grammar.tsv.xz has rows of tense, English sentence, German sentence and links. A grammar generated
them: `python recipes/write_grammar.py`. A sentence has exactly one translation.
"""

from __future__ import annotations

import io
import lzma
import random
import tarfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from models.core.errors import ConfigurationError

T = TypeVar("T")
FILE = "grammar.tsv.xz"
ORDERED = 1  # the seed whose order is that of the file


class Pair(NamedTuple):
    """A sentence, its translation, and the links between their words (separated by spaces)."""

    source: str
    target: str
    links: tuple[tuple[int, int], ...]  # sorted (source word, target word), counted from 0


def generate(count: int, *, seed: int = ORDERED) -> Iterator[Pair]:
    """Return English-German pairs in an order that depends on the seed: at most all of the file."""
    return islice(_pairs(seed), count)


def split(train: int, dev: int, test: int, *, seed: int = ORDERED) -> Splits:
    """Return English-German pairs; no held-out source occurs twice or in the training pairs."""
    return _split(_pairs(seed), train, dev, test, lambda pair: pair.source)


def split_tenses(train: int, count: int, *, seed: int = ORDERED) -> Splits:
    """Return rows (tense, English sentence); no held-out sentence is in the training rows.

    A tense is present, past, future or modal. count: rows of dev and of test.
    """
    rows = ((row[0], row[1]) for row in _rows(seed))
    return _split(rows, train, count, count, lambda row: row[1])


def _split(
    rows: Iterator[T], train: int, dev: int, test: int, sentence: Callable[[T], str]
) -> Splits:
    held: dict[str, T] = {}
    while len(held) < dev + test:
        row = next(rows)
        held[sentence(row)] = row
    found = list(islice((row for row in rows if sentence(row) not in held), train))
    if len(found) < train:
        raise ConfigurationError(
            f"data.demo_size={train}", f"at most {len(found)} embedded sentences", "name files"
        )
    kept = list(held.values())
    return Splits(found, kept[:dev], kept[dev:])


def _pairs(seed: int) -> Iterator[Pair]:
    for _, source, target, links in _rows(seed):
        words = (link.partition("-") for link in links.split())
        yield Pair(source, target, tuple((int(i), int(j)) for i, _, j in words))


def _rows(seed: int) -> list[list[str]]:
    """Return the rows of the file: tense, source, target, links."""
    rows = [line.split("\t") for line in _lines()]
    if seed != ORDERED:
        random.Random(seed).shuffle(rows)
    return rows


@cache
def _lines() -> list[str]:
    content = files(__package__).joinpath(FILE).read_bytes()
    return lzma.decompress(content).decode("utf-8").splitlines()


class Splits(NamedTuple):
    """Examples for training, and two held-out sets without training examples."""

    train: list[Any]
    dev: list[Any]
    test: list[Any]


def as_table(rows: Iterable[Iterable[str]]) -> bytes:
    """Return rows of cells as the content of a TSV file."""
    return "".join("\t".join(row) + "\n" for row in rows).encode()


def as_tar(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the content of a TAR file of some files, given by name and content."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()
