"""Several text models that translate together: an ensemble; see mean.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from models.base.errors import ConfigurationError
from models.config.tables import SearchConfig
from models.inference.ensemble.mean import (
    EnsembleBackend,
    MemberLengths,
    MemberMemories,
    MemberReadModes,
    check_vocabularies,
    member_names,
)
from models.inference.search.beam import search
from models.inference.search.constrained import constrained_search, with_phrases
from models.inference.search.hypotheses import Finished, length_limit
from models.inference.text_translator import EncodedText, TextTranslator
from models.inference.translator import Translator
from models.layers.packed import packed_weights

if TYPE_CHECKING:
    from typing_extensions import Self


class EnsembleTranslator(MemberReadModes, MemberLengths, TextTranslator):
    """Text models with one target vocabulary; search settings are those of the first.

    Each model reads a text, or a row of the same inputs, with its own source vocabulary. The
    longest text is that of the model with the lowest limit. Raises ConfigurationError for models
    that cannot translate together.
    """

    members: tuple[Translator, ...]

    def __init__(self, members: Sequence[Translator], names: Sequence[str] = ()) -> None:
        names = names or member_names(len(members))
        _check_inputs(members, names)
        check_vocabularies([member.tokenizer for member in members], names)
        _check_languages(members, names)
        first = members[0]
        super().__init__(
            first.config, first.tokenizer, first.tokenizer_config, first.search, first.alignment
        )
        self.to, self.inputs = first.to, first.inputs
        self.members = tuple(members)

    def for_direction(self, to: str = "", source: str = "") -> Self:
        """Return this ensemble with a fixed target language; see `TextTranslator`."""
        other = super().for_direction(to, source)
        other.members = tuple(member.for_direction(to, source) for member in self.members)
        return other

    def fault(self, text: str) -> str:
        """Return why one of the models cannot read a row; "" if all can."""
        return next(filter(None, (member.fault(text) for member in self.members)), "")

    def unknown_characters(self, text: str) -> str:
        """Return the characters of a text that the first model has no token for."""
        return self.members[0].unknown_characters(text)

    def _encoded(self, texts: Sequence[tuple[str, str]], *, first: int) -> list[EncodedText]:
        """Encode texts with the vocabulary of the first model; each model checks the lengths."""
        return [member._encoded(texts, first=first) for member in self.members][0]

    @torch.inference_mode()
    def _search(self, sources: Sequence[EncodedText], config: SearchConfig) -> list[list[Finished]]:
        phrases = self._phrases(sources, config)
        limits = [length_limit(len(each.ids), config) for each in sources]
        keys = [each.text for each in sources]
        backend = EnsembleBackend([member.model for member in self.members])
        with packed_weights(*(member.model for member in self.members)):
            found = search(backend, self._memories(sources), limits, keys, config)

        def search_again(number: int) -> list[Finished]:
            memories = self._memories([sources[number]])
            return constrained_search(backend, memories, limits[number], phrases[number], config)

        return with_phrases(found, phrases, search_again)

    def _memories(self, sources: Sequence[EncodedText]) -> MemberMemories:
        return MemberMemories(
            tuple(member.memory(_encoded_by(member, sources)) for member in self.members)
        )


def _encoded_by(member: Translator, sources: Sequence[EncodedText]) -> list[EncodedText]:
    """Return the texts as ids of one model's source vocabulary."""
    return [each._replace(ids=member.encode(each.read, each.to)) for each in sources]


def _check_inputs(members: Sequence[Translator], names: Sequence[str]) -> None:
    for name, member in zip(names[1:], members[1:], strict=True):
        if member.inputs != members[0].inputs:
            first, other = (", ".join(each.inputs) or "text" for each in (members[0], member))
            raise ConfigurationError(
                f"{name} reads {other}, {names[0]} {first}",
                "models with the same inputs, which an ensemble needs",
                "give one -m",
            )


def _check_languages(members: Sequence[Translator], names: Sequence[str]) -> None:
    for name, member in zip(names[1:], members[1:], strict=True):
        if set(member.languages) != set(members[0].languages):
            raise ConfigurationError(
                f"{name} has other target languages than {names[0]}",
                "models with the same --to, which an ensemble needs",
                "give one -m",
            )
