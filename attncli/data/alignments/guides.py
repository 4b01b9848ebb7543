"""Word links of training pairs that guide an attention head, read from a Pharaoh file.

The file has one line per pair, counted from 0, as `attn align` and other programs write it. A link
between words becomes links between all their tokens; punctuation attached to a word is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attncli.data.alignments.links import parse_pharaoh
from attncli.data.text.text_files import open_text
from attncli.terminal.plurals import counted
from models.base.errors import ModelError
from models.text.tokenizer import Tokenizer
from models.text.units import units


class Guide(NamedTuple):
    """The word links of one pair, and their place in the file for messages."""

    place: str
    links: tuple[tuple[int, int], ...]  # source word, target word, counted from 0


def read_guides(path: Path, total: int) -> Iterator[Guide]:
    """Yield the links of each of `total` pairs; a ModelError if the file does not fit the pairs."""
    number, linked, lowest = 0, False, False
    with open_text(path) as lines:
        for number, text in enumerate(lines, 1):
            if number > total:
                break
            guide = Guide(f"{path}, line {number}", _links(path, number, text))
            linked = linked or bool(guide.links)
            lowest = lowest or any(0 in link for link in guide.links)
            yield guide
    if number != total:
        more = "more than" if number > total else f"{counted(number, 'line')} for"
        raise ModelError(
            f"{path} has {more} {counted(total, 'pair')}", "a line of links for each pair"
        )
    if not lowest:
        seen = "names no first word" if linked else "has no links"
        raise ModelError(
            f"{path} {seen}",
            "links counted from 0, as in 0-0",
            "lower every number by 1 if it is 1",
        )


def _links(path: Path, number: int, text: str) -> tuple[tuple[int, int], ...]:
    try:
        return tuple(link for _, link, _, _ in parse_pharaoh(text))
    except ValueError as error:
        raise ModelError(
            f"{path}, line {number}: {str(error)[:40]!r} is not a link", "links such as 0-0 1-2"
        ) from None


def piece_links(
    guide: Guide, source: Sequence[int], target: Sequence[int], tokenizer: Tokenizer
) -> list[int]:
    """Return the linked tokens of a pair as one list: source, target, source, target, .."""
    pieces = [
        units(processor, ids, marks=False).shares.T.numpy() > 0  # (N, P)
        for processor, ids in ((tokenizer.source, source), (tokenizer.target, target))
    ]
    words = tuple(len(side) for side in pieces)
    flat: list[int] = []
    for i, j in guide.links:
        if i >= words[0] or j >= words[1]:
            raise ModelError(
                f"{guide.place}: {i}-{j} is outside the pair",
                f"links of {words[0]} source and {words[1]} target words, counted from 0",
            )
        for s, t in product(pieces[0][i].nonzero()[0], pieces[1][j].nonzero()[0]):
            flat += [int(s), int(t)]
    return flat


def guide_table(rows: Sequence[np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """Return target weights (B, T, S) from token links; the linked tokens of a row share it."""
    table = np.zeros((len(rows), *shape), np.float32)
    for number, flat in enumerate(rows):
        source, target = flat.reshape(-1, 2).T
        table[number, target, source] = 1
    shared: np.ndarray = table / np.maximum(table.sum(-1, keepdims=True), 1)
    return shared
