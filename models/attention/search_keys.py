"""Keys of an additive score for a search: their exponentials, computed once per source.

    v^T tanh(q + k) = 2 v^T s - sum(v),    s = 1 / (1 + exp(-2 q) exp(-2 k))

Each step then computes exponentials of its queries only. Both factors stay in fp32's range if
|k| <= 34 and |q| <= 43. A larger |q| is replaced by 43, which changes nothing, because s is then
0 or 1 in fp32 for every such k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from models.attention.additive_energy import (
    CLAMPABLE,
    REPRESENTABLE,
    AdditiveEnergy,
    sentence_groups,
)
from models.join import join


class SearchKeys(NamedTuple):
    """Keys of B sentences for many steps without gradients."""

    keys: Tensor  # (B, S, A): exp(-2 k), or k itself
    factorises: bool  # True if `keys` are the exponentials

    @classmethod
    def of(cls, keys: Tensor) -> SearchKeys:
        """Return the exponentials of keys k (B, S, A), unless one of them is too large."""
        if float(keys.abs().amax()) > CLAMPABLE:
            return cls(keys, False)
        return cls((keys * -2).exp_(), True)

    @classmethod
    def joined(cls, parts: Sequence[SearchKeys]) -> SearchKeys:
        """Return the sentences of several; none has exponentials unless all have."""
        if len({part.factorises for part in parts}) > 1:
            parts = [part.plain() for part in parts]
        return cls(join([part.keys for part in parts]), parts[0].factorises)

    def plain(self) -> SearchKeys:
        """Return these keys without exponentials."""
        return SearchKeys(self.keys.log().div_(-2), False) if self.factorises else self

    def select(self, rows: Tensor) -> SearchKeys:
        """Return the keys of some sentences."""
        return SearchKeys(self.keys.index_select(0, rows), self.factorises)

    def scores(self, query: Tensor, energy: Tensor) -> Tensor:
        """Compute v^T tanh(q + k), (B, T, S), of query q (B, T, A) and energy v (A,)."""
        if not self.factorises:
            scores: Tensor = AdditiveEnergy.apply(query, self.keys, energy)  # type: ignore[no-untyped-call]
            return scores
        powers = query.clamp(-REPRESENTABLE, REPRESENTABLE).mul_(-2).exp_()
        parts = [
            sums_of_sigmoids(powers[group], self.keys[group], energy)
            for group in sentence_groups(self.keys)
        ]
        return torch.cat(parts).mul_(2).sub_(energy.sum())


def sums_of_sigmoids(query: Tensor, keys: Tensor, energy: Tensor) -> Tensor:
    """Return v^T s, (B, T, S), of exponentials of queries (B, T, A) and keys (B, S, A)."""
    one, buffer = keys.new_ones(()), torch.empty_like(keys)  # one buffer stays in the cache
    queries = query.unsqueeze(2).unbind(1)  # T times (B, 1, A)
    sums = [torch.addcmul(one, q, keys, out=buffer).reciprocal_() @ energy for q in queries]
    return torch.stack(sums, 1)
