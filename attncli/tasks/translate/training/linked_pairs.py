"""Sentence pairs with word links, which a model learns to attend to: guided alignment.

The loss gets  -w sum_t sum_s G_ts log a_ts,  where G are the links as token weights, a the mean of
the heads of the layer that `attn align` reads by default, and w is train.attention.regions. A
token without links adds nothing. Sources: Chen et al. 2016; Garg et al. 2019, section 3.3.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

import numpy as np
import torch

from attncli.data.alignments import read_word_links, target_weights, token_links
from attncli.data.text.tokens import Side, SideWriter, TokenPairs, read_side
from models.base.types import Batch
from models.text.tokenizer import Tokenizer

NAME = "links"


@dataclass(frozen=True)
class LinkedPairs(TokenPairs):
    """A tokenised parallel corpus with the links of each pair."""

    links: Side  # of each pair: source token, target token, source token, target token, ..

    def batch(self, numbers: np.ndarray) -> Batch:
        """Return the padded batch of some pairs with where attention should be, (B, T, S)."""
        batch = super().batch(numbers)
        shape = batch.target_out.shape[1], batch.source.shape[1]
        pairs = [self.links[number].reshape(-1, 2) for number in numbers]
        return batch._replace(regions=torch.from_numpy(target_weights(pairs, shape)))


def write_links(
    path: Path,
    pairs: Iterable[tuple[str, str]],
    held: Collection[str],
    kept: np.ndarray,
    tokenizer: Tokenizer,
    folder: Path,
) -> None:
    """Write the token links of the pairs that are trained on.

    path: file of word links, a line for each of `pairs`. held: sources that are left out. kept
    (N,): True for each other pair that is written.
    """
    pairs = list(pairs)
    rows = zip(pairs, read_word_links(path, len(pairs)), strict=True)
    chosen = compress((row for row in rows if row[0][0] not in held), kept)
    writer = SideWriter(folder, NAME, np.dtype(np.uint32))
    for (source, target), links in chosen:
        ids = tokenizer.encode(source), tokenizer.encode_target(target)
        writer.add([token_links(links, *ids, tokenizer).flatten().tolist()])
    writer.close()


def with_links(pairs: TokenPairs, folder: Path) -> TokenPairs:
    """Return the tokenised corpus of a run with its links, if it has some."""
    if not (folder / f"{NAME}.ids").exists():
        return pairs
    return LinkedPairs(pairs.source, pairs.target, read_side(folder, NAME))
