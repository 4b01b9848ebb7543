"""Pointer-generator: the decoder's attention to the source copies source tokens into the output.

p(y) = p_gen p_vocabulary(y) + (1 - p_gen) sum_{i: x_i = y} a_ti
p_gen = sigmoid(w_c . c_t + w_s . s_t + w_x . x_t + b)      See, Liu and Manning 2017, eq. 8 and 9

With coverage: model.attention.coverage (eq. 11) and train.attention.coverage=see (eq. 12).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.base.types import Memory
from models.decoders.base import DecoderOutput
from models.decoders.copying import Copying
from models.decoders.readers import CopyReader, SourceTokens, input_rows
from models.numerics.linear import Linear

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
