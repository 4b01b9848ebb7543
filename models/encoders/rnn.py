"""Recurrent encoder: a GRU or LSTM over the source, in one direction or both.

h_i = [->h_i; <-h_i]                     Bahdanau, Cho and Bengio 2015, section 3.2
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from models.base.types import Memory
from models.config import ModelConfig
from models.layers import Embedding
from models.numerics.dropout import Dropout


class RnnEncoder(nn.Module):
    """Token ids to a memory with one slot per token, and the final states."""

    def __init__(self, embedding: Embedding, config: ModelConfig, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden  # units per direction
        self.embedding = embedding
        self.dropout = Dropout(config.dropout)
        between = config.dropout if config.encoder_layers > 1 else 0.0
        self.rnn = CELLS[config.cell](
            config.embedding,
            hidden,
            config.encoder_layers,
            batch_first=True,
            bidirectional=config.bidirectional,
            dropout=between,
        )
        directions = 2 if config.bidirectional else 1
        self.value_size = hidden * directions
        self.final_size = hidden * directions * config.encoder_layers

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of ids (B, S) with mask (B, S).

        Its `final` (B, layers * directions * hidden) contains each direction's last state; the
        backward state of the last layer, <-h_1, comes last.
        """
        embedded = self.dropout(self.embedding(source))
        with torch.autocast(source.device.type, enabled=False):
            values, last = self.rnn(embedded.float(), mask)
        final = last.transpose(0, 1).flatten(1)
        return Memory(self.dropout(values), mask, final)


class PaddedRnn(nn.RNNBase):
    """Recurrent layers over padded sentences, in one direction or both."""

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the outputs (B, S, D * H), 0 on padding, and the last states (L * D, B, H).

        x (B, S, E) with mask (B, S); D directions, L layers. The backward direction begins at the
        end of each sentence.
        """
        lengths = mask.sum(1).cpu()
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        outputs, last = super().forward(packed)
        values, _ = pad_packed_sequence(outputs, batch_first=True, total_length=mask.shape[1])
        hidden = last[0] if isinstance(last, tuple) else last  # an LSTM has a memory cell, too
        return values, hidden


class PaddedGru(PaddedRnn, nn.GRU):  # type: ignore[misc]
    """GRU over padded sentences."""


class PaddedLstm(PaddedRnn, nn.LSTM):  # type: ignore[misc]
    """LSTM over padded sentences."""


CELLS = {"gru": PaddedGru, "lstm": PaddedLstm}
