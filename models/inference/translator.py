"""A trained text model ready for use: texts in, translations with scores out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from models.base.types import Memory
from models.bundle import Bundle
from models.config.tables import SearchConfig
from models.inference.search.backend import Backend
from models.inference.search.batching import pad
from models.inference.search.beam import search
from models.inference.search.constrained import constrained_search, with_phrases
from models.inference.search.hypotheses import Finished, length_limit
from models.inference.text_translator import EncodedText, TextTranslator
from models.inference.trained import TorchModel


class TorchSearch(TextTranslator):
    """Text models that torch searches: one, or several together."""

    def memory(self, sources: Sequence[EncodedText]) -> Any:
        """Return the memory of encoded texts, padded to the longest."""
        raise NotImplementedError

    def _backend(self) -> Backend:
        """Return what computes each step."""
        raise NotImplementedError

    @torch.inference_mode()
    def _search(self, sources: Sequence[EncodedText], config: SearchConfig) -> list[list[Finished]]:
        """Return the best outputs of each source, which contain the phrases of the glossary."""
        limits = [length_limit(len(each.ids), config) for each in sources]
        keys, phrases = [each.text for each in sources], self._phrases(sources, config)
        backend = self._backend()
        found = search(backend, self.memory(sources), limits, keys, config)

        def search_again(number: int) -> list[Finished]:
            memory, inside = self.memory([sources[number]]), self.tokenizer.inside_words
            return constrained_search(
                self._backend(), memory, limits[number], phrases[number], config, inside
            )

        return with_phrases(found, phrases, search_again)


class Translator(TorchModel, TorchSearch):
    """A text model on a device. Its output for a text does not depend on the batch."""

    source = "text"

    def __init__(self, bundle: Bundle, device: str = "cpu") -> None:
        super().__init__(bundle, device)
        self.tokenizer_config, self.alignment = bundle.tokenizer_config, bundle.alignment
        self.statistical = bundle.statistical

    def images(self, rows: Sequence[str]) -> Tensor | None:
        """Return the features (B, S, V) of images that rows name; None if the model reads none."""
        return None

    def memory(self, sources: Sequence[EncodedText]) -> Memory:
        """Return the memory of encoded texts, padded to the longest."""
        images = self.images([each.text for each in sources])
        return self.model.encode(*pad([each.ids for each in sources], self.device), images)

    def _backend(self) -> Backend:
        return self.model
