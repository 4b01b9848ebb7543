"""A decoder of one step: it pools the memory and predicts one token, the label of a text.

p(label) = softmax(W Pooling(h_1 .. h_S) + b)
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from models.base.registry import find
from models.base.types import AttentionOutput, Memory, select
from models.config import ModelConfig
from models.decoders.base import Decoder, DecoderOutput
from models.numerics import Dropout
from models.pooling import Pooling


class PoolingDecoder(Decoder[AttentionOutput, Tensor]):
    """Memory to the features of one label. Target tokens are not read.

    The state (R,) is the sentence of each row, because the label depends on nothing else.
    """

    def __init__(self, value_size: int, config: ModelConfig) -> None:
        super().__init__()
        self.pooling: Pooling = find("pooling", config.pooling)(value_size, config)
        self.dropout = Dropout(config.dropout)
        self.attends = self.pooling.attends
        self.attention_shape = (1, config.attention.heads if self.attends else 1)

    def prepare(self, memory: Memory) -> AttentionOutput:
        """Pool the memory of each sentence."""
        return self.pooling(memory)

    def read_values(self, memory: Memory) -> Tensor | None:
        """Return the values that the pooling weighs, (B, H, S, V); see Decoder."""
        return self.pooling.read_values(memory)

    def start(self, prepared: AttentionOutput) -> Tensor:
        """Return a row for each sentence."""
        context = prepared.context
        return torch.arange(context.shape[0], device=context.device)

    def advance(
        self,
        tokens: Tensor,
        state: Tensor,
        prepared: AttentionOutput,
        *,
        want_weights: bool = False,
        want_heads: Sequence[int] = (),
    ) -> DecoderOutput:
        """Return the same features for each of the tokens (R, T); see Decoder."""
        steps = tokens.shape[1]
        context, weights, log_prob, entropy, _, heads, _ = select(prepared, state)
        each = weights.unsqueeze(2) if heads is None else heads  # (R, 1, H, S)
        return DecoderOutput(
            self.dropout(context).expand(-1, steps, -1),
            state,
            weights.expand(-1, steps, -1) if want_weights else None,
            None if log_prob is None else log_prob.expand(-1, steps),
            None if entropy is None else entropy.expand(-1, steps),
            None,
            each.transpose(1, 2).unsqueeze(1).expand(-1, -1, -1, steps, -1) if want_heads else None,
        )
