"""Average attention network: a decoder's token reads the mean of the prefix, through a gate.

    g_t = FFN(1/t sum_{k <= t} y_k)
    i_t, f_t = sigmoid(W [y_t; g_t]),  h_t = i_t * y_t + f_t * g_t
Zhang, Xiong, Su 2018, eq. 1 to 4
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.attention.mixing import Sums
from models.config import ModelConfig
from models.layers import FeedForward
from models.numerics.linear import Linear


class AverageAttention(nn.Module):
    """Average: the mean of the prefix in place of a decoder's self-attention (AAN).

    h_t = i_t * y_t + f_t * g_t;  g_t = FFN(mean of y_1 .. y_t);  i_t, f_t = sigmoid(W [y_t; g_t])
    Source: Zhang, Xiong, Su 2018, eq. 1 to 4.
    Decoding needs one sum in place of a cache. The encoder keeps its self-attention, as in the
    paper. Positions must be added to the embeddings.
    """

    decodes_only = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        size = config.embedding
        self.feed_forward = FeedForward(size, config.hidden, config.dropout)
        self.gates = Linear(2 * size, 2 * size)  # W

    def empty(self, values: Tensor) -> Sums:
        """Return a sum over no tokens, for the rows of values (B, ..)."""
        rows, size = values.shape[0], self.gates.weight.shape[0] // 2
        total = values.new_zeros(rows, size, dtype=torch.float32)
        return Sums((total,), values.new_zeros(rows, 0, dtype=torch.float32))

    def forward(
        self, x: Tensor, mask: Tensor | None = None, past: Sums | None = None
    ) -> tuple[Tensor, Sums]:
        """Compute the output (B, T, D) of tokens that follow the past, and the sum after it."""
        assert mask is None, "a decoder sees the prefix only"
        past = self.empty(x[:, None]) if past is None else past
        sums = past.parts[0].unsqueeze(1) + x.float().cumsum(1)  # (B, T, D)
        seen = past.after((sums[:, -1],), x.shape[1])
        counts = seen.read.cumsum(1)[:, -x.shape[1] :, None]
        average = self.feed_forward((sums / counts).to(x.dtype))
        keep, read = self.gates(torch.cat([x, average], -1)).sigmoid().chunk(2, -1)
        return keep * x + read * average, seen
