"""Copying of source tokens: pointer and CopyNet."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.base.types import Memory
from models.decoders.base import LOW, Copying, DecoderOutput, JointCopying
from models.decoders.readers import CopyReader, SourceTokens, input_rows
from models.numerics import Linear

# CopyNet: one softmax over the tokens of the vocabulary and the positions of the source.
#
# p(y) = (exp psi_g(y) + sum_{j: x_j = y} exp psi_c(x_j)) / Z            Gu et al. 2016, eq. 4 to 6
# Z = sum_v exp psi_g(v) + sum_j exp psi_c(x_j)
# psi_g(v) = v^T W_o s_t,   psi_c(x_j) = tanh(h_j^T W_c) s_t             eq. 7 and 8
# Without the selective read of the paper (eq. 9).


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


# Pointer-generator: the decoder's attention to the source copies source tokens into the output.
#
# p(y) = p_gen p_vocabulary(y) + (1 - p_gen) sum_{i: x_i = y} a_ti
# p_gen = sigmoid(w_c . c_t + w_s . s_t + w_x . x_t + b)      See, Liu and Manning 2017, eq. 8 and 9
#
# With coverage: model.attention.coverage (eq. 11) and train.attention.coverage=see (eq. 12).


SMALLEST = 1e-9  # lower bound of a sum of weights before the division


class Pointer(CopyReader):
    """Pointer-generator: each step generates a token or copies the source token it attends to.

    p(y) = p_gen p_vocabulary(y) + (1 - p_gen) sum_(i: x_i = y) a_i
    Source: See, Liu, Manning 2017, eq. 8 and 9.
    For every recurrent family with attention and the Transformer, with one vocabulary of source and
    target (tokenizer.joint=true). a are the weights that are shown, the mean of the heads; s_t are
    the inputs of the output layer, x_t the row of its matrix of the token that was read. A word
    that training never contained is copied token by token. Weights of a step that sum to less than
    1, as with a null slot, leave the rest to the vocabulary.
    """

    needs_weights = True

    def __init__(self, feature_size: int, value_size: int) -> None:
        super().__init__()
        self.gate = Linear(value_size + 2 * feature_size, 1)  # w_c; w_s; w_x
        nn.init.zeros_(self.gate.weight)
        nn.init.zeros_(self.gate.bias)

    def prepare(self, memory: Memory, embedding: Tensor) -> SourceTokens:
        """Return the source tokens. embedding (Y, D): of the output tokens."""
        assert memory.ids is not None
        return SourceTokens(memory.ids, memory.mask, memory.values)

    def forward(
        self,
        advanced: DecoderOutput,
        tokens: Tensor,
        state: None,
        prepared: SourceTokens,
        embedding: Tensor,
    ) -> tuple[Tensor, Copying, None]:
        """Return the features (R, T, D), unchanged, and the pointer; tokens (R, T) were read."""
        assert advanced.weights is not None
        features, weights = advanced.features, advanced.weights.float()
        sentences, slots, _ = prepared.values.shape
        by_sentence = weights.reshape(sentences, -1, slots).to(prepared.values.dtype)
        context = (by_sentence @ prepared.values).view(*tokens.shape, -1)  # (R, T, V)
        read = embedding[tokens].to(features.dtype)  # (R, T, D)
        inputs = torch.cat([context.to(features.dtype), features, read], -1)
        copies = 1 - self.gate(inputs).squeeze(-1).float().sigmoid()
        total = weights.sum(-1)  # at most 1
        rows = input_rows(prepared.values, tokens)
        shares = weights / total.clamp_min(SMALLEST).unsqueeze(-1)
        return features, Copying(copies * total, shares, prepared.ids.index_select(0, rows)), None
