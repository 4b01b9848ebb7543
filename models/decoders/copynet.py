"""CopyNet: one softmax over the tokens of the vocabulary and the positions of the source.

p(y) = (exp psi_g(y) + sum_{j: x_j = y} exp psi_c(x_j)) / Z            Gu et al. 2016, eq. 4 to 6
Z = sum_v exp psi_g(v) + sum_j exp psi_c(x_j)
psi_g(v) = v^T W_o s_t,   psi_c(x_j) = tanh(h_j^T W_c) s_t             eq. 7 and 8
Without the selective read of the paper (eq. 9).
"""

from __future__ import annotations

from torch import Tensor

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
    memory. Tokens are subwords, so no token is unknown.
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
