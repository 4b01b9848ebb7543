"""Several text models that translate together: an ensemble; see mean.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from models.inference.ensemble.mean import (
    EnsembleBackend,
    MemberLengths,
    MemberReadModes,
    Memories,
    check_equal,
    target_tokens,
)
from models.inference.text_translator import EncodedText
from models.inference.translator import TorchSearch, Translator

if TYPE_CHECKING:
    from typing_extensions import Self


class EnsembleTranslator(MemberReadModes, MemberLengths, TorchSearch):
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
