"""Settings that every trained model in use has: search, read mode, hypotheses. Imports no torch."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from models.config import ModelConfig, SearchConfig
from models.tokenizer import Tokenizer
from models.types import Hypothesis

if TYPE_CHECKING:
    from typing_extensions import Self

    from models.inference.hypotheses import Finished
    from models.model import EncoderDecoder


class TrainedModel:
    """A trained model in use, run by any engine."""

    tokenizer: Tokenizer
    search: SearchConfig  # default settings

    def with_search(self, search: SearchConfig) -> Self:
        """Return this model with other default search settings; the weights are shared."""
        other = copy.copy(self)
        other.search = search
        return other

    def _hypothesis(self, found: Finished) -> Hypothesis:
        """Return an output of the search as text, tokens and scores."""
        return Hypothesis(
            text=self.tokenizer.decode(found.ids),
            score=found.score,
            log_prob=found.log_prob,
            tokens=self.tokenizer.pieces(found.ids),
            ids=found.ids,
            truncated=found.truncated,
        )


class TorchModel(TrainedModel):
    """A trained model in use, run by torch."""

    model: EncoderDecoder

    @property
    def config(self) -> ModelConfig:
        """Configuration of the model."""
        return self.model.config

    @property
    def read_mode(self) -> str:
        """Read mode of the attention: "soft", "hard argmax", "hard sample" or "hard expected"."""
        return self.model.read_mode

    def with_read_mode(self, decode: str, *, seed: int = 1) -> Self:
        """Return this model with another read mode of its hard attention; the weights are shared.

        decode: argmax, sample or expected. seed: of the samples. Raises ModelError if the
        attention is not hard.
        """
        other = copy.copy(self)
        other.model = self.model.with_read_mode(decode, seed=seed)
        return other
