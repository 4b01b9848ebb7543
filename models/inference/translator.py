"""A trained text model, or several together, ready for use: texts in, translations out."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from models.base.types import Memory
from models.bundle import Bundle
from models.config import SearchConfig
from models.inference.ensemble import (
    EnsembleBackend,
    Memories,
    check_equal,
    target_tokens,
)
from models.inference.search.backend import Backend
from models.inference.search.batching import pad
from models.inference.search.beam import search
from models.inference.search.constrained import constrained_search, with_phrases
from models.inference.search.hypotheses import Finished, length_limit
from models.inference.text_translator import EncodedText, TextTranslator
from models.inference.trained import TorchModel

if TYPE_CHECKING:
    from typing_extensions import Self


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
        self.statistical, self.prepare = bundle.statistical, bundle.prepare

    def in_torch(self) -> tuple[Translator, ...]:
        """Return this model."""
        return (self,)

    def images(self, rows: Sequence[str]) -> Tensor | None:
        """Return the features (B, S, V) of images that rows name; None if the model reads none."""
        return None

    def memory(self, sources: Sequence[EncodedText]) -> Memory:
        """Return the memory of encoded texts, padded to the longest."""
        images = self.images([each.text for each in sources])
        return self.model.encode(*pad([each.ids for each in sources], self.device), images)

    def _backend(self) -> Backend:
        return self.model


class EnsembleTranslator(TorchSearch):
    """Text models with one target vocabulary; search settings are those of the first.

    Each model reads a text, or a row of the same inputs, with its own source vocabulary. The
    longest text is that of the model with the lowest limit. Raises ConfigurationError for models
    that cannot translate together.
    """

    members: tuple[Translator, ...]

    def __init__(self, members: Sequence[Translator], names: Sequence[str] = ()) -> None:
        check_equal(members, names, "inputs", lambda member: member.inputs)
        check_equal(members, names, "target vocabularies", target_tokens)
        check_equal(members, names, "target languages", lambda member: {*member.languages})
        first = members[0]
        super().__init__(
            first.config, first.tokenizer, first.tokenizer_config, first.search, first.alignment
        )
        self.to, self.inputs, self.prepare = first.to, first.inputs, first.prepare
        self.members = tuple(members)

    @property
    def read_mode(self) -> str:
        """Read mode of the first model with hard attention; else that of the first model."""
        modes = [member.read_mode for member in self.members]
        return next((mode for mode in modes if mode.startswith("hard")), modes[0])

    def with_read_mode(self, decode: str, *, seed: int = 1) -> Self:
        """Return this ensemble with another read mode of its models with hard attention.

        Raises ConfigurationError if no model has hard attention.
        """
        other, any_hard = copy.copy(self), self.read_mode.startswith("hard")
        other.members = tuple(
            member.with_read_mode(decode, seed=seed)
            if member.read_mode.startswith("hard") or not any_hard
            else member
            for member in self.members
        )
        return other

    @property
    def max_source_length(self) -> int:
        """Maximum length of a text in tokens, end mark included: the lowest of the models."""
        return min(member.max_source_length for member in self.members)

    def source_length(self, text: str) -> int:
        """Return the length of a text in tokens, end mark included: the highest of the models."""
        return max(member.source_length(text) for member in self.members)

    def for_direction(self, to: str = "", source: str = "") -> Self:
        """Return this ensemble with a fixed target language; see `TextTranslator`."""
        other = super().for_direction(to, source)
        other.members = tuple(member.for_direction(to, source) for member in self.members)
        return other

    def in_torch(self) -> tuple[Translator, ...]:
        """Return the members."""
        return self.members

    def fault(self, text: str) -> str:
        """Return why one of the models cannot read a row; "" if all can."""
        return next(filter(None, (member.fault(text) for member in self.members)), "")

    def unknown_characters(self, text: str) -> str:
        """Return the characters of a text that the first model has no token for."""
        return self.members[0].unknown_characters(text)

    def _encoded(self, texts: Sequence[tuple[str, str]], *, first: int) -> list[EncodedText]:
        """Encode texts with the vocabulary of the first model; each model checks the lengths."""
        return [member._encoded(texts, first=first) for member in self.members][0]

    def memory(self, sources: Sequence[EncodedText]) -> Memories:
        """Return the memory of texts in each model, encoded with its source vocabulary."""
        of_members = (
            [each._replace(ids=member.encode(each.read, each.to)) for each in sources]
            for member in self.members
        )
        pairs = zip(self.members, of_members, strict=True)
        return Memories(tuple(member.memory(encoded) for member, encoded in pairs))

    def _backend(self) -> EnsembleBackend:
        return EnsembleBackend([member.model for member in self.members])
