"""Interface between search and a model.

`EncoderDecoder` (models/model.py) is the usual backend. Any object with these three methods can be
searched, for example an ensemble that averages the probabilities of several models.
"""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

from models.types import DecodingStep, Memory


class Backend(Protocol):
    """Model as search uses it: encode once, start once, then one step per output token."""

    def encode(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of sources (B, S, ...) with mask (B, S)."""

    def start(self, memory: Memory) -> tuple[Any, Any]:
        """Return the prepared memory (B sentences) and the state before the first token (B rows).

        Both are `Selectable`; see models/decoders/base.py.
        """

    def step(self, tokens: Tensor, state: Any, prepared: Any) -> DecodingStep:
        """Return logits and state after one more token per row, (R,).

        R is B times the number of hypotheses per sentence; rows of one sentence are adjacent.
        """
