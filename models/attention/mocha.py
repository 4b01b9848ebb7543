"""Monotonic chunkwise attention: soft attention to a chunk of slots that ends at a monotonic stop.

    b_ti = sum_{k = i}^{i + w - 1} a_tk exp(u_ti) / sum_{l = k - w + 1}^{k} exp(u_tl)
Chiu, Raffel 2018, eq. 13; a are the stops of models/attention/monotonic.py
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import pad

from models.attention.base import masked_softmax
from models.attention.monotonic import Monotonic
from models.config import AttentionConfig


class MoChA(Monotonic):
    """MoChA: softmax over the chunk of slots that ends at a monotonic stop; recurrent decoders.

    weight_i = exp(u_i) / sum_(l in chunk) exp(u_l) for the w slots i that end at the stop
    Source: Chiu, Raffel 2018, eq. 13.
    Options: chunk.
    u is a second score of the kind model.attention.score with its own parameters; scores without
    parameters, such as dot, make both equal. A chunk of 1 slot is normalise=monotonic.
    """

    needs_chunk_scores = True

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__(config)
        self.chunk = config.chunk

    def forward(
        self, scores: Tensor, slots: Tensor, position: Tensor, chunk_scores: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return weights and the new position (B, T, S)."""
        assert chunk_scores is not None
        stopped = self.stopped(scores, slots, position)
        inside = slots.expand(stopped.shape)
        before = self.chunk - 1  # slots of a chunk before its last
        chunks = pad(chunk_scores, (before, 0)).unfold(-1, self.chunk, 1)  # (B, T, S, w)
        real = pad(inside, (before, 0), value=False).unfold(-1, self.chunk, 1)
        shares = masked_softmax(chunks, real) * stopped.unsqueeze(-1)
        return summed(shares), stopped


def summed(shares: Tensor) -> Tensor:
    """Return weights (B, T, S) of shares (B, T, S, w): those of the w slots that end at a slot."""
    size, width = shares.shape[-2:]
    total = shares.new_zeros(*shares.shape[:-2], size + width - 1)
    for place in range(width):
        total = total + pad(shares[..., place], (place, width - 1 - place))
    return total[..., width - 1 :]
