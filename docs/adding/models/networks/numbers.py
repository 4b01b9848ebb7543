"""Texts about rows of numbers."""

import torch
from torch import Tensor, nn

from models.attention.layers import Embedding
from models.core.types import Memory, VocabularySizes
from models.networks.family import RecurrentModel
from models.networks.numbers_config import NumbersConfig
from models.networks.recurrent import RnnDecoder

SLOTS = 3


class NumberEncoder(nn.Module):
    """Numbers to a memory with one slot per number."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.project = nn.Linear(1, size)
        self.place = nn.Parameter(torch.randn(SLOTS, size))
        self.mix = nn.Linear(SLOTS, size)

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of numbers (B, S) with mask (B, S)."""
        values = torch.tanh(self.project(source.unsqueeze(-1)) + self.place)  # (B, S, V)
        return Memory(values, mask, torch.tanh(self.mix(source)))


class Numbers(RecurrentModel):
    """Numbers: the decoder of RNNsearch over a row of numbers.

    h_i = tanh(w x_i + p_i);  s_0 = tanh(W tanh(M x))
    Source: Bahdanau, Cho, Bengio 2015, for the decoder.
    """

    def __init__(self, config: NumbersConfig, sizes: VocabularySizes) -> None:
        target, size = Embedding(sizes.target, config.embedding), config.hidden
        decoder = RnnDecoder(target, config, value_size=size, final_size=size)
        super().__init__(config, sizes, NumberEncoder(size), decoder, target)
