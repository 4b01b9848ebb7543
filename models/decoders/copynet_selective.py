"""CopyNet with its selective read: the state of a source token that was copied is an input.

zeta(y_{t-1}) = sum_j rho_j h_j                                         Gu et al. 2016, eq. 9
rho_j = p(x_j, copy | s_{t-1}) / K if x_j = y_{t-1}, else 0;   K: the sum over these j
s_t = f([e(y_{t-1}); zeta(y_{t-1})], s_{t-1}, c_t)

The share of copying cancels in rho, which is a softmax of the scores of the copies of y_{t-1}.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from models.attention.base import masked_softmax
from models.base.types import Memory
from models.decoders.base import DecoderOutput
from models.decoders.copying import CopyReader, JointCopying, input_rows
from models.decoders.copynet import CopyKeys, CopyNet


class SelectiveSlots(NamedTuple):
    """Source tokens, their keys and their states."""

    copied: CopyKeys
    values: Tensor  # (B, S, V)

    def select(self, rows: Tensor) -> SelectiveSlots:
        """Return those of some sentences."""
        return SelectiveSlots(self.copied.select(rows), self.values.index_select(0, rows))


class SelectiveCopyNet(CopyReader):
    """CopyNet with selective read: each step also reads the source positions of the last token.

    zeta(y) = sum_(j: x_j = y) rho_j h_j,  s_t = f([e(y_{t-1}); zeta(y_{t-1})], s_{t-1}, c_t)
    Source: Gu, Lu, Li, Li 2016, eq. 4 to 9.
    rho are the copying probabilities of the last step, normalised over the positions of its token;
    zeta is 0 for a token that the source does not contain. For rnnsearch and luong, with one
    vocabulary of source and target (tokenizer.joint=true). Training computes whole steps one after
    another, so an update takes longer than with copynet.
    """

    feeds_back = True

    def __init__(self, feature_size: int, value_size: int) -> None:
        super().__init__()
        self.copynet = CopyNet(feature_size, value_size)

    def prepare(self, memory: Memory, embedding: Tensor) -> SelectiveSlots:
        """Compute the keys of the source tokens. embedding (Y, D): unused."""
        return SelectiveSlots(self.copynet.prepare(memory, embedding), memory.values)

    def start(self, prepared: SelectiveSlots) -> Tensor:
        """Return equal scores (B, S) of all positions before the first token."""
        return torch.zeros_like(prepared.copied.mask, dtype=torch.float32)

    def selected(self, token: Tensor, state: Tensor, prepared: SelectiveSlots) -> Tensor:
        """Return zeta (R, V) of the token (R, 1) that is read; state (R, S): the last scores."""
        ids, values = prepared.copied.ids, prepared.values
        same = ids.index_select(0, input_rows(ids, token)) == token  # (R, S)
        shares = masked_softmax(state, same).to(values.dtype)
        by_sentence = shares.view(values.shape[0], -1, values.shape[1])  # (B, K, S)
        return (by_sentence @ values).flatten(0, 1)

    def forward(
        self,
        advanced: DecoderOutput,
        tokens: Tensor,
        state: Tensor,
        prepared: SelectiveSlots,
        embedding: Tensor,
    ) -> tuple[Tensor, JointCopying, Tensor]:
        """Return the features (R, T, D), the scores of the source tokens, and the last of these."""
        features, copying, _ = self.copynet(advanced, tokens, None, prepared.copied, embedding)
        return features, copying, copying.scores[:, -1]
