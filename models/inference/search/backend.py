"""Interface between search and a model.

`EncoderDecoder` (models/families/encoder_decoder.py) is the usual backend. Any object with these
two methods can be searched: `EnsembleBackend` (models/inference/ensemble.py) averages the
probabilities of several.
"""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor


class Step(Protocol):
    """Result of a decoding step."""

    @property
    def log_probs(self) -> Tensor:
        """Log-probabilities (R, Y) of the next token; they may be changed in place."""

    @property
    def state(self) -> Any:
        """State of R rows; see `models.base.types.select`."""


class Backend(Protocol):
    """Model as search uses it: start once with a memory, then one step per output token."""

    def start(self, memory: Any) -> tuple[Any, Any]:
        """Return the prepared memory of B sentences, and the state of B rows before any token.

        memory: encoded sources with a `mask` (B, S): a `Memory`, or `Memories` of several models.
        """

    def step(self, tokens: Tensor, state: Any, prepared: Any) -> Step:
        """Return log-probabilities and state after one more token per row, (R,).

        R is B times the number of hypotheses per sentence; rows of one sentence are adjacent.
        """
