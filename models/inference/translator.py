"""A trained text model ready for use: texts in, translations with scores out."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from models.bundle import Bundle, read
from models.config import ModelConfig, SearchConfig
from models.inference.batching import pad
from models.inference.hypotheses import Finished, length_limit
from models.inference.search import search
from models.inference.text_translator import EncodedText, TextTranslator
from models.sources import check_source
from models.types import Memory

if TYPE_CHECKING:
    from typing_extensions import Self


class Translator(TextTranslator):
    """A text model on a device. Its output for a text does not depend on the batch."""

    def __init__(self, bundle: Bundle, device: str = "cpu") -> None:
        check_source(bundle.model.config.family, "text")
        super().__init__(
            bundle.model.config,
            bundle.tokenizer,
            bundle.tokenizer_config,
            bundle.search,
            bundle.alignment,
        )
        self.model = bundle.model.to(device).eval()
        self.device = torch.device(device)

    @classmethod
    def read(cls, folder: str | Path, *, device: str = "cpu") -> Translator:
        """Read the model of a bundle folder."""
        return cls(read(Path(folder)), device)

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

    def memory(self, sources: Sequence[EncodedText]) -> Memory:
        """Return the memory of encoded texts, padded to the longest."""
        return self.model.encode(*pad([each.ids for each in sources], self.device))

    @torch.inference_mode()
    def _search(self, sources: Sequence[EncodedText], config: SearchConfig) -> list[list[Finished]]:
        limits = [length_limit(len(each.ids), config) for each in sources]
        keys = [each.text for each in sources]
        return search(self.model, self.memory(sources), limits, keys, config)
