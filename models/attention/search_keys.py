"""Keys of an additive score for a search: their exponentials, computed once per source.

    v^T tanh(q + k) = 2 v^T s - sum(v),    s = 1 / (1 + exp(-2 q) exp(-2 k))

Each step then computes exponentials of its queries only. fp32 represents both factors if |k| and
|q| are at most 43, so larger ones are replaced by 43. If |k| <= 34, this changes nothing, because s
is 0 or 1 in fp32 for every larger |q|; neither does it for larger |k| if |q| <= 34. If both are
larger, the scores are computed without exponentials of keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from models.numerics.additive_energy import (
    CLAMPABLE,
    AdditiveEnergy,
    exponential,
    largest,
    sentence_groups,
)
from models.numerics.join import join


class SearchKeys(NamedTuple):
    """Keys of B sentences for many steps without gradients."""

    powers: Tensor  # (B, S, A): exp(-2 k), |k| replaced by 43 if it is larger
    large: Tensor | None  # k itself if an element is above CLAMPABLE

    @classmethod
    def of(cls, keys: Tensor) -> SearchKeys:
        """Return the exponentials of keys k (B, S, A)."""
        return cls(exponential(keys), keys if largest(keys) > CLAMPABLE else None)

    @classmethod
    def joined(cls, parts: Sequence[SearchKeys]) -> SearchKeys:
        """Return the sentences of several."""
        powers = join([part.powers for part in parts])
        if all(part.large is None for part in parts):
            return cls(powers, None)
        return cls(powers, join([part.plain() for part in parts]))

    def plain(self) -> Tensor:
        """Return the keys k (B, S, A)."""
        return self.powers.log().div_(-2) if self.large is None else self.large

    def select(self, rows: Tensor) -> SearchKeys:
        """Return the keys of some sentences."""
        large = None if self.large is None else self.large.index_select(0, rows)
        return SearchKeys(self.powers.index_select(0, rows), large)

    def scores(self, query: Tensor, energy: Tensor) -> Tensor:
        """Compute v^T tanh(q + k), (B, T, S), of query q (B, T, A) and energy v (A,)."""
        if self.large is not None and largest(query) > CLAMPABLE:
            scores: Tensor = AdditiveEnergy.apply(query, self.large, energy)  # type: ignore[no-untyped-call]
            return scores
        powers = exponential(query)
        parts = [
            sums_of_sigmoids(powers[group], self.powers[group], energy)
            for group in sentence_groups(self.powers)
        ]
        return torch.cat(parts).mul_(2).sub_(energy.sum())


def sums_of_sigmoids(query: Tensor, keys: Tensor, energy: Tensor) -> Tensor:
    """Return v^T s, (B, T, S), of exponentials of queries (B, T, A) and keys (B, S, A)."""
    one, buffer = keys.new_ones(()), torch.empty_like(keys)  # one buffer stays in the cache
    queries = query.unsqueeze(2).unbind(1)  # T times (B, 1, A)
    sums = [torch.addcmul(one, q, keys, out=buffer).reciprocal_() @ energy for q in queries]
    return torch.stack(sums, 1)
