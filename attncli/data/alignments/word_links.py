"""Word links of sentence pairs, and the attention weights that an aligner is trained towards.

A file of links has one Pharaoh line per pair, counted from 0. A link between words becomes links
between all their tokens; punctuation attached to a word is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from torch import Tensor, nn

from attncli.data.alignments.links import parse_pharaoh
from attncli.terminal.plurals import counted
from models.base.errors import ModelError
from models.base.types import Batch, Link
from models.text.tokenizer import END, Tokenizer
from models.text.units import units

WordLinks = tuple[Link, ...]  # of a pair: source word, target word, counted from 0


def read_word_links(path: Path, total: int, unit: str = "pair") -> list[WordLinks]:
    """Return the links of each of `total` lines; raise a ModelError if the file does not fit."""
    lines = path.read_text("utf-8").splitlines()
    if len(lines) != total:
        raise ModelError(
            f"{path} has {counted(len(lines), 'line')} for {total:,} {unit}s",
            f"a line of links for each {unit}",
        )
    return [_links(path, number, text) for number, text in enumerate(lines, 1)]


def _links(path: Path, number: int, text: str) -> WordLinks:
    try:
        return tuple(link for _, link, _ in parse_pharaoh(text))
    except ValueError as error:
        raise ModelError(
            f"{path}, line {number}: {str(error)[:40]!r} is not a link", "links such as 0-0 1-2"
        ) from None


def token_links(
    links: WordLinks, source: Sequence[int], target: Sequence[int], tokenizer: Tokenizer
) -> np.ndarray:
    """Return the linked tokens (N, 2) of a pair: source token, target token."""
    tokens = [
        units(processor, ids, marks=False).shares.T.numpy() > 0  # (words, tokens)
        for processor, ids in ((tokenizer.source, source), (tokenizer.target, target))
    ]
    words = tuple(len(side) for side in tokens)
    found: list[tuple[int, int]] = []
    for i, j in links:
        if i >= words[0] or j >= words[1]:
            raise ModelError(
                f"link {i}-{j} of a pair with {words[0]} source and {words[1]} target words",
                "links between words of the pair, counted from 0",
            )
        found += product(tokens[0][i].nonzero()[0].tolist(), tokens[1][j].nonzero()[0].tolist())
    return np.array(found, np.int64).reshape(-1, 2)


def cell_links(
    links: WordLinks, cells: int, target: Sequence[int], tokenizer: Tokenizer
) -> np.ndarray:
    """Return the links of an image's cells and the tokens of a caption (N, 2): cell, token."""
    words = units(tokenizer.target, target, marks=False).shares.numpy().T > 0  # (words, tokens)
    found: list[tuple[int, int]] = []
    for cell, word in links:
        if cell >= cells or word >= len(words):
            raise ModelError(
                f"link {cell}-{word} of an image with {cells} cells and a caption with "
                f"{counted(len(words), 'word')}",
                "links of cells and words, counted from 0",
            )
        found += [(cell, token) for token in words[word].nonzero()[0].tolist()]
    return np.array(found, np.int64).reshape(-1, 2)


def target_weights(pairs: Sequence[np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """Return weights (B, T, S) from the token links of pairs; the linked tokens of a row share it.

    shape: T target tokens and S source tokens.
    """
    table = np.zeros((len(pairs), *shape), np.float32)
    for number, links in enumerate(pairs):
        source, target = links.T
        table[number, target, source] = 1
    shared: np.ndarray = table / np.maximum(table.sum(-1, keepdims=True), 1)
    return shared


def with_end_mark(weights: Tensor, batch: Batch) -> Tensor:
    """Return target weights (B, T, S) that link tokens without links to the source's end mark.

    The weights of a pair without any link stay 0.
    """
    free = batch.target_mask & (batch.target_out != END) & (weights.sum(-1) == 0)  # (B, T)
    free &= weights.flatten(1).any(1)[:, None]
    last = batch.source_mask.sum(1) - 1  # (B,) the end mark
    null = nn.functional.one_hot(last, weights.shape[2])  # (B, S)
    return weights + free[..., None] * null[:, None]
