"""CopyNet: one softmax over the tokens of the vocabulary and the positions of the source.

p(y) = (exp psi_g(y) + sum_{j: x_j = y} exp psi_c(x_j)) / Z            Gu et al. 2016, eq. 4 to 6
Z = sum_v exp psi_g(v) + sum_j exp psi_c(x_j)
psi_g(v) = v^T W_o s_t,   psi_c(x_j) = tanh(h_j^T W_c) s_t             eq. 7 and 8

Its selective read makes the state of a source token that was copied an input of the next step:

zeta(y_{t-1}) = sum_j rho_j h_j                                         eq. 9
rho_j = p(x_j, copy | s_{t-1}) / K if x_j = y_{t-1}, else 0;   K: the sum over these j
s_t = f([e(y_{t-1}); zeta(y_{t-1})], s_{t-1}, c_t)

The share of copying cancels in rho, which is a softmax of the scores of the copies of y_{t-1}.
"""

from __future__ import annotations

import torch
from torch import Tensor

from models.attention.base import masked_softmax
from models.base.types import Memory
from models.decoders.base import DecoderOutput
from models.decoders.copying import LOW, JointCopying
from models.decoders.readers import CopyReader, SourceTokens, input_rows
from models.numerics.linear import Linear


class CopyNet(CopyReader):
    """CopyNet: generating a token and copying one of the source share a softmax.

    p(y) = (exp psi_g(y) + sum_(j: x_j = y) exp psi_c(x_j)) / Z,  psi_c(x_j) = tanh(h_j^T W_c) s_t
    Source: Gu, Lu, Li, Li 2016, eq. 4 to 8.
    For every recurrent family with attention and the Transformer, with one vocabulary of source and
    target (tokenizer.joint=true). psi_g are the logits of the output layer, s_t its inputs, h_j the
    memory. Tokens are subwords, so no token is unknown. copynet_selective adds the selective read
    of the paper (eq. 9) in recurrent families.
    """

    def __init__(self, feature_size: int, value_size: int) -> None:
        super().__init__()
        self.key = Linear(value_size, feature_size, bias=False)  # W_c

    def prepare(self, memory: Memory, embedding: Tensor) -> SourceTokens:
        """Compute the keys tanh(h_j^T W_c) of the source tokens. embedding (Y, D): unused."""
        assert memory.ids is not None
        keys = self.key(memory.values).tanh()
        return SourceTokens(memory.ids, memory.mask, memory.values, keys)

    def forward(
        self,
        advanced: DecoderOutput,
        tokens: Tensor,
        state: None,
        prepared: SourceTokens,
        embedding: Tensor,
    ) -> tuple[Tensor, JointCopying, None]:
        """Return the features (R, T, D), unchanged, and the scores of the source tokens."""
        features, keys = advanced.features, prepared.keys
        assert keys is not None
        by_sentence = features.reshape(keys.shape[0], -1, keys.shape[2]).to(keys.dtype)
        scores = (by_sentence @ keys.mT).float()  # (B, any, S)
        scores = scores.masked_fill(~prepared.mask.unsqueeze(1), LOW)
        scores = scores.view(*tokens.shape, -1)  # (R, T, S)
        rows = input_rows(keys, tokens)
        return features, JointCopying(scores, prepared.ids.index_select(0, rows)), None


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

    def prepare(self, memory: Memory, embedding: Tensor) -> SourceTokens:
        """Compute the keys of the source tokens. embedding (Y, D): unused."""
        return self.copynet.prepare(memory, embedding)

    def start(self, prepared: SourceTokens) -> Tensor:
        """Return equal scores (B, S) of all positions before the first token."""
        return torch.zeros_like(prepared.mask, dtype=torch.float32)

    def selected(self, token: Tensor, state: Tensor, prepared: SourceTokens) -> Tensor:
        """Return zeta (R, V) of the token (R, 1) that is read; state (R, S): the last scores."""
        ids, values = prepared.ids, prepared.values
        same = ids.index_select(0, input_rows(ids, token)) == token  # (R, S)
        shares = masked_softmax(state, same).to(values.dtype)
        by_sentence = shares.view(values.shape[0], -1, values.shape[1])  # (B, K, S)
        return (by_sentence @ values).flatten(0, 1)

    def forward(
        self,
        advanced: DecoderOutput,
        tokens: Tensor,
        state: Tensor,
        prepared: SourceTokens,
        embedding: Tensor,
    ) -> tuple[Tensor, JointCopying, Tensor]:
        """Return the features (R, T, D), the scores of the source tokens, and the last of these."""
        features, copying, _ = self.copynet(advanced, tokens, None, prepared, embedding)
        return features, copying, copying.scores[:, -1]
