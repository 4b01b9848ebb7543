"""GRU and LSTM over padded sentences: each sentence is read up to its own length."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


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
