"""Cosine of the angle between query and key, times a learned sharpness.

score(s, h) = beta cos(k, h),  beta = softplus(b^T s + c)      Graves et al. 2014, eq. 5 and 6
"""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn.functional import normalize, softplus

from models.attention.base import Score
from models.config import AttentionConfig
from models.numerics.linear import Linear

FIRST_SHARPNESS = 8.0  # weights of 20 slots can reach 0.99; none is below 1e-8


class Cosine(Score):
    """Cosine (content-based): the angle between query and key, times a learned sharpness.

    score(s, h) = beta cos(k, h);  beta = softplus(b^T s + c)
    Source: Graves, Wayne, Danihelka 2014, eq. 5 and 6.
    k is s itself, or W s where query and key differ in size. Without the sharpness beta,
    scores are between -1 and 1, and a softmax over them is almost uniform.
    """

    is_product = True

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, key_size, config)
        same = query_size == key_size
        self.query = nn.Identity() if same else Linear(query_size, key_size, bias=False)  # W
        self.sharpness = Linear(query_size, 1)  # b, c
        nn.init.normal_(self.sharpness.weight, std=0.1 * query_size**-0.5)
        nn.init.constant_(self.sharpness.bias, math.log(math.expm1(FIRST_SHARPNESS)))

    def prepare(self, values: Tensor) -> Tensor:
        """Normalise every slot to length 1: (B, S, K)."""
        return normalize(values, dim=-1)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S)."""
        angles = normalize(self.query(query), dim=-1) @ keys.to(query.dtype).mT
        return angles * softplus(self.sharpness(query))
