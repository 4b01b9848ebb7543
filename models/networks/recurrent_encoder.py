"""Recurrent encoders of texts."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from models.attention.layers import Embedding
from models.core.config import RecurrentEncoderConfig
from models.core.types import Memory


class RnnEncoder(nn.Module):
    """Token ids to a memory with one slot per token, and the final states.

    h_i = [->h_i; <-h_i]                     Bahdanau, Cho and Bengio 2015, section 3.2
    """

    def __init__(self, embedding: Embedding, config: RecurrentEncoderConfig, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden  # units per direction
        self.embedding = embedding
        self.dropout = nn.Dropout(config.dropout)
        self.rnn = CELLS[config.cell](
            config.embedding,
            hidden,
            config.encoder_layers,
            batch_first=True,
            bidirectional=config.bidirectional,
            dropout=config.dropout if config.encoder_layers > 1 else 0.0,
        )
        self.value_size = hidden * (2 if config.bidirectional else 1)
        self.final_size = self.value_size * config.encoder_layers

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
    """Recurrent layers over padded sentences, in one direction or both.

    Each direction runs over the padded batch; padding follows the words, so it changes no output
    of theirs. torch's packed sequences give the same outputs, and their backward pass takes 1.7
    times (15 words) to 6 times (130 frames) as long on a processor.
    """

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the outputs (B, S, D * H), 0 on padding, and the last states (L * D, B, H).

        x (B, S, E) with mask (B, S); D directions, L layers. The backward direction begins at the
        end of each sentence.
        """
        if x.device.type != "cpu":
            return self._packed(x, mask)
        outputs, states = x, []
        back = reversing(mask)
        for layer in range(self.num_layers):
            if layer and self.dropout:
                outputs = functional.dropout(outputs, self.dropout, self.training)
            forward, last = self._direction(layer, outputs, mask, reverse=False)
            states.append(last)
            if self.bidirectional:
                backward, last = self._direction(
                    layer, reordered(outputs, back), mask, reverse=True
                )
                states.append(last)
                forward = torch.cat([forward, reordered(backward, back)], -1)
            outputs = forward
        return outputs * mask.unsqueeze(-1), torch.stack(states)

    def _packed(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the same as torch does for packed sentences, fast on a GPU."""
        lengths = mask.sum(1).cpu()
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        outputs, last = super().forward(packed)
        values, _ = pad_packed_sequence(outputs, batch_first=True, total_length=mask.shape[1])
        return values, last[0] if isinstance(last, tuple) else last

    def _direction(
        self, layer: int, x: Tensor, mask: Tensor, reverse: bool
    ) -> tuple[Tensor, Tensor]:
        """Return one direction's outputs (B, S, H) and the state (B, H) at each sentence's end."""
        ends = "_reverse" if reverse else ""
        parts = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        weights = [getattr(self, f"{part}_l{layer}{ends}") for part in parts]
        zero = x.new_zeros(1, len(x), self.hidden_size)
        options = (True, 1, 0.0, self.training, False, True)
        if self.mode == "LSTM":
            outputs = torch.lstm(x, (zero, zero), weights, *options)[0]
        else:
            outputs = torch.gru(x, zero, weights, *options)[0]
        last = (mask.sum(1) - 1).clamp_min(0).view(-1, 1, 1).expand(-1, 1, self.hidden_size)
        return outputs, outputs.gather(1, last).squeeze(1)


class PaddedGru(PaddedRnn, nn.GRU):  # type: ignore[misc]
    """GRU over padded sentences."""


class PaddedLstm(PaddedRnn, nn.LSTM):  # type: ignore[misc]
    """LSTM over padded sentences."""


CELLS = {"gru": PaddedGru, "lstm": PaddedLstm}


def reversing(mask: Tensor) -> Tensor:
    """Return the indices (B, S) that reverse each sentence and keep its padding."""
    places = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - places, places)


def reordered(x: Tensor, places: Tensor) -> Tensor:
    """Return x (B, S, D) with its slots taken from places (B, S)."""
    return x.gather(1, places.unsqueeze(-1).expand_as(x))
