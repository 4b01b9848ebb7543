"""Word links of sentence pairs, and the attention weights that an aligner is trained towards.

A file of links has one Pharaoh line per pair, counted from 0. A link between words becomes links
between all their tokens; punctuation attached to a word is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from attncli.data.alignments.links import parse_pharaoh
from attncli.terminal.messages import counted
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
    return [
        tuple(link for _, link, _ in parse_pharaoh(text, f"{path}, line {number}"))
        for number, text in enumerate(lines, 1)
    ]


def token_links(
    links: WordLinks, source: Sequence[int], target: Sequence[int], tokenizer: Tokenizer
) -> np.ndarray:
    """Return the linked tokens (N, 2) of a pair: source token, target token."""
    sides = (tokenizer.source, source), (tokenizer.target, target)
    return linked(links, *(tokens_of_words(*side) for side in sides))


def cell_links(
    links: WordLinks, cells: int, target: Sequence[int], tokenizer: Tokenizer
) -> np.ndarray:
    """Return the links of an image's cells and the tokens of a caption (N, 2): cell, token."""
    return linked(links, np.eye(cells, dtype=bool), tokens_of_words(tokenizer.target, target))


def tokens_of_words(processor: Any, ids: Sequence[int]) -> np.ndarray:
    """Return True (words, tokens) for the tokens of each word. processor: of SentencePiece."""
    shares: np.ndarray = units(processor, ids, marks=False).shares.T.numpy()
    return shares > 0


def linked(links: WordLinks, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the linked tokens (N, 2), given the tokens of the units of either side."""
    found: list[tuple[int, int]] = []
    for i, j in links:
        if i >= len(source) or j >= len(target):
            raise ModelError(
                f"link {i}-{j} of a pair with {len(source)} source and {len(target)} target units",
                "links between units of the pair, counted from 0",
            )
        found += product(source[i].nonzero()[0].tolist(), target[j].nonzero()[0].tolist())
    return np.array(found, np.int64).reshape(-1, 2)


def target_weights(pairs: Sequence[np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """Return weights (B, T, S) from the token links of pairs; the linked tokens of a row share it.

    shape: T target tokens and S source tokens.
    """
    table = np.zeros((len(pairs), *shape), np.float32)
    for number, links in enumerate(pairs):
        source, target = links.T
        table[number, target, source] = 1
    return table / np.maximum(table.sum(-1, keepdims=True), 1)


def with_end_mark(weights: Tensor, batch: Batch) -> Tensor:
    """Return target weights (B, T, S) that link tokens without links to the source's end mark.

    The weights of a pair without any link stay 0.
    """
    free = batch.target_mask & (batch.target_out != END) & (weights.sum(-1) == 0)  # (B, T)
    free &= weights.flatten(1).any(1)[:, None]
    last = batch.source_mask.sum(1) - 1  # (B,) the end mark
    null = nn.functional.one_hot(last, weights.shape[2])  # (B, S)
    return weights + free[..., None] * null[:, None]
