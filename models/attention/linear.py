"""Linear attention: a feature map in place of the softmax, so that sums replace a cache of slots.

    v'_t = phi(q_t)^T sum_i phi(k_i) v_i^T / (phi(q_t)^T sum_i phi(k_i)),  phi(x) = elu(x) + 1
Katharopoulos, Vyas, Pappas, Fleuret 2020, eq. 5, 9 to 12 and 16 to 20
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import elu

from models.attention.mixing import Sums
from models.attention.multihead import split
from models.base.errors import ConfigurationError
from models.config import ModelConfig
from models.numerics.linear import Linear

SMALLEST = 1e-6  # added to the denominator, as in the authors' program


class LinearAttention(nn.Module):
    """Linear: attention by a feature map; every decoding step needs the same memory.

    v'_t = phi(q_t)^T S_t / (phi(q_t)^T z_t);  S_t = sum phi(k_i) v_i^T, z_t = sum phi(k_i)
    Source: Katharopoulos, Vyas, Pappas, Fleuret 2020, eq. 5, 9 to 12 and 16 to 20.
    The sums go over all tokens in an encoder and over the prefix in a decoder. Training computes
    products of all pairs of target tokens, which is faster than the sums for sentences. Positions
    must be added to the embeddings, and there is no dropout of weights.
    """

    decodes_only = False

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        size, self.count = config.embedding, config.heads
        if size % self.count:
            raise ConfigurationError(
                f"{self.count} attention heads over features of {size}",
                "a size that the heads divide evenly",
                "set model.heads",
            )
        self.input = Linear(size, 3 * size)  # Q; K; V at once
        self.output = Linear(size, size)

    def empty(self, values: Tensor) -> Sums:
        """Return sums over no tokens, for the rows of values (B, ..)."""
        size = self.output.weight.shape[0] // self.count
        rows = values.shape[0]
        sums = values.new_zeros(rows, self.count, size, size, dtype=torch.float32)
        return Sums((sums, sums[..., 0]), values.new_zeros(rows, 0, dtype=torch.float32))

    def forward(
        self, x: Tensor, mask: Tensor | None = None, past: Sums | None = None
    ) -> tuple[Tensor, Sums]:
        """Compute the output (B, T, D), and the sums after it.

        Without a mask, token t reads the prefix and itself. With a mask (B, S), each reads all.
        With a past, T must be 1.
        """
        query, keys, values = (split(part, self.count) for part in self.input(x).chunk(3, -1))
        query, keys, values = mapped(query), mapped(keys), values.float()  # (B, H, T, d)
        if mask is not None:
            keys = keys * mask[:, None, :, None]
        past = self.empty(values) if past is None else past
        sums, total = past.parts
        sums, total = sums + keys.mT @ values, total + keys.sum(2)
        if mask is None and x.shape[1] > 1:
            weights = (query @ keys.mT).tril()  # (B, H, T, T)
            found = weights @ values / (weights.sum(-1, keepdim=True) + SMALLEST)
        else:
            found = query @ sums / ((query * total.unsqueeze(2)).sum(-1, keepdim=True) + SMALLEST)
        merged = found.to(x.dtype).transpose(1, 2).flatten(2)
        return self.output(merged), past.after((sums, total), x.shape[1])


def mapped(x: Tensor) -> Tensor:
    """Return the features phi(x) = elu(x) + 1 in float32; all are positive."""
    return elu(x.float()) + 1
