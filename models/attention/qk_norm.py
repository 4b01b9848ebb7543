"""The product of query and key, each of length 1, times one learned number.

score(s, h) = g (s / |s|)^T (h / |h|)    Henry, Dachapally, Pawar, Chen 2020, eq. 3
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from models.attention.dot import Dot
from models.config import AttentionConfig

TYPICAL_LENGTH = 40  # L of the paper: the length that 97.5 % of the sentences do not exceed
FIRST_SCALE = math.log2(TYPICAL_LENGTH**2 - TYPICAL_LENGTH)  # g_0, eq. 4


class QkNorm(Dot):
    """QK norm: normalised query and key, so that no product can saturate the softmax.

    score(s, h) = g (s / |s|)^T (h / |h|);  g is learned, one number for each head
    Source: Henry, Dachapally, Pawar, Chen 2020, eq. 3 and 4.
    Query and key must have equal sizes. Without g, scores would be between -1 and 1, and a softmax
    over them almost uniform; g begins at log2(L^2 - L) for sentences of L = 40 tokens.
    """

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, key_size, config)
        self.scale = nn.Parameter(torch.tensor(FIRST_SCALE))

    def prepare(self, values: Tensor) -> Tensor:
        """Normalise every slot to length 1: (B, S, K)."""
        return normalize(values, dim=-1)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S)."""
        return super().forward(self.scale * normalize(query, dim=-1), keys.to(query.dtype))
