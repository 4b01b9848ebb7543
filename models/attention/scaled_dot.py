"""The dot product, divided by the root of the key's size.

score(s, h) = s^T h / sqrt(n)            Vaswani et al. 2017, eq. 1
"""

from __future__ import annotations

from torch import Tensor

from models.attention.dot import Dot


class ScaledDot(Dot):
    """Scaled dot: the product over the root of the key's size n.

    score(s, h) = s^T h / sqrt(n)
    Source: Vaswani et al. 2017, eq. 1.
    """

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S)."""
        return super().forward(query * keys.shape[-1] ** -0.5, keys)
