"""A backend whose outputs consist of some tokens of the vocabulary; the others have probability 0.

p'(y) = p(y) / sum of p over the allowed tokens
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from models.base.types import DecodingStep
from models.families.encoder_decoder import EncoderDecoder
from models.inference.search.backend import Backend


def restricted(model: EncoderDecoder, allowed: Sequence[int] | None) -> Backend:
    """Return a model as a backend with the allowed tokens. None: all."""
    return model if allowed is None else RestrictedBackend(model, allowed)


class RestrictedBackend:
    """Model whose next token is one of the allowed ones."""

    def __init__(self, model: EncoderDecoder, allowed: Sequence[int]) -> None:
        self.model = model
        self.excluded = torch.ones_like(model.output.bias, dtype=torch.bool)  # (Y,)
        self.excluded[list(allowed)] = False

    def start(self, memory: Any) -> tuple[Any, Any]:
        """Return the prepared memory and the first state; see `Backend`."""
        return self.model.start(memory)

    def step(self, tokens: Tensor, state: Any, prepared: Any) -> DecodingStep:
        """Read one token per row; the logits of excluded tokens are -inf."""
        step = self.model.step(tokens, state, prepared)
        return step._replace(logits=step.logits.masked_fill(self.excluded, -torch.inf))
