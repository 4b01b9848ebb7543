"""Linear maps of embedded tokens, computed once per token and stream of searches.

The hypotheses of 400 sentences read some 30,000 tokens, but about 2,000 different ones.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import torch
from torch import Tensor

from models.layers.blocks import Embedding
from models.numerics.linear import Linear


class EmbeddedTokens(NamedTuple):
    """Tokens that a decoder reads."""

    ids: Tensor  # (R, T)
    vectors: Tensor  # (R, T, E) embedded, after dropout


class TokenMap(Linear):
    """Linear map of embedded tokens."""

    table: TokenTable | None = None  # in use while models/numerics/packed.py packs the weights

    def __init__(self, embedding: Embedding, out_features: int) -> None:
        vocabulary, size = embedding.weight.shape
        super().__init__(size, out_features)
        self.vocabulary = vocabulary

    def of_tokens(self, tokens: EmbeddedTokens) -> Tensor:
        """Map tokens (R, T) to (R, T, O)."""
        table = None if self.training else self.table
        mapped: Tensor = self(tokens.vectors) if table is None else table(tokens)
        return mapped


class TokenTable(threading.local):
    """Outputs of a map for the tokens that a thread read so far.

    Each thread has a table of its own. An output depends by rounding on the tokens that it was
    computed with, so with one table for all, outputs would depend on which thread was faster.
    """

    def __init__(self, layer: TokenMap) -> None:
        self.layer = layer
        self.rows = layer.weight.new_empty(layer.vocabulary, layer.out_features)
        self.known = torch.zeros(layer.vocabulary, dtype=torch.bool)

    def __call__(self, tokens: EmbeddedTokens) -> Tensor:
        """Map tokens (R, T) to (R, T, O); compute those that are unknown."""
        ids = tokens.ids.flatten()
        unknown = self.known[ids].logical_not_().nonzero()[:, 0]
        if len(unknown):
            new = ids[unknown]
            self.rows[new] = self.layer(tokens.vectors.flatten(0, 1)[unknown])
            self.known[new] = True
        mapped: Tensor = self.rows.index_select(0, ids).unflatten(0, tokens.ids.shape)
        return mapped
