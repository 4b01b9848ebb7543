"""A translator run by torch, or several together: an ensemble.

    p(y_t | y_<t, x) = 1/M sum_m p_m(y_t | y_<t, x)      Sutskever et al. 2014

The models of an ensemble may be of different families and read different source vocabularies; their
target vocabularies are identical.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from models.core.errors import ConfigurationError
from models.core.types import Memory, select
from models.core.use_config import SearchConfig
from models.engines._constrained import constrained_search, with_phrases
from models.engines._terms import rescored, with_terms
from models.engines.steering import SteeredBackend, TargetWords, with_looks
from models.engines.text_translator import EncodedText, TextTranslator, limit_of
from models.engines.trained import TorchModel
from models.networks.bundle import Bundle
from models.search.batching import pad
from models.search.beam import search
from models.search.hypotheses import Backend, CombinedStep, Finished
from models.search.steering import WORD_TOKENS, Continuation
from models.text.lexicon import FoundForm, Lexicon, LexiconEntry
from models.text.tokenizer import FIRST_OUTPUT, START
from models.text.units import source_text

if TYPE_CHECKING:
    from typing_extensions import Self

M = TypeVar("M")
States = tuple[Any, ...]  # states, or prepared memories, of each model


class Memories(NamedTuple):
    """The memories of the same sources in all models."""

    parts: tuple[Memory, ...]

    @property
    def mask(self) -> Tensor:
        """Mask (B, S) of the first model's slots."""
        return self.parts[0].mask


class EnsembleBackend:
    """Several models as one backend of the search."""

    def __init__(self, members: Sequence[Backend]) -> None:
        self.members = tuple(members)

    def start(self, memory: Memories) -> tuple[States, States]:
        """Return the prepared memories and the states before the first token."""
        pairs = zip(self.members, memory.parts, strict=True)
        prepared, states = zip(*(member.start(part) for member, part in pairs), strict=True)
        return prepared, states

    def step(self, tokens: Tensor, state: States, prepared: States) -> CombinedStep:
        """Return the mean of the probabilities after one more token per row, (R,)."""
        parts = zip(self.members, state, prepared, strict=True)
        steps = [member.step(tokens, own, memory) for member, own, memory in parts]
        mean = mean_log_probs([step.log_probs for step in steps])
        return CombinedStep(mean, tuple(step.state for step in steps))


def mean_log_probs(log_probs: Sequence[Tensor]) -> Tensor:
    """Return the logarithm of the mean of probabilities, given their logarithms (R, Y).

    The mean of equal numbers is exactly this number.
    """
    each = torch.stack(list(log_probs))  # (M, R, Y)
    # relative to the greatest, because exp of a number below -104 is 0 in float32
    greatest = each.amax(0)
    return greatest + (each - greatest).exp().mean(0).log()


def check_equal(
    members: Sequence[M], names: Sequence[str], what: str, value_of: Callable[[M], object]
) -> None:
    """Raise ConfigurationError unless a value is equal for all models.

    names: of the models, for the message; empty if they are unknown. what: the value.
    """
    values = [value_of(member) for member in members]
    names = names or [f"model {number}" for number in range(1, len(members) + 1)]
    for name, value in zip(names[1:], values[1:], strict=True):
        if value != values[0]:
            raise ConfigurationError(
                f"{name} and {names[0]} have different {what}",
                f"models of the same {what}, which an ensemble needs",
                "give one -m, or train one with --start-from the other",
            )


def target_tokens(member: Translator) -> tuple[str, ...]:
    """Return the tokens of a model's outputs, by id."""
    return member.tokenizer.pieces(range(member.tokenizer.target.get_piece_size()))


class TorchSearch(TextTranslator):
    """Text models that torch searches: one, or several together."""

    def memory(self, sources: Sequence[EncodedText]) -> Memory | Memories:
        """Return the memory of encoded texts, padded to the longest."""
        raise NotImplementedError

    def _backend(self) -> Backend:
        """Return what computes each step."""
        raise NotImplementedError

    def _steered_backend(self, sources: Sequence[EncodedText]) -> Backend:
        """Return what computes each step of sources."""
        if not any(each.is_steered for each in sources):
            return self._backend()
        prefixes, looks = zip(*((each.prefix, each.looks) for each in sources), strict=True)
        vocabulary = TargetWords.of(self.tokenizer, self.in_torch()[0].device)
        return SteeredBackend(self._backend(), prefixes, looks, vocabulary)

    @torch.inference_mode()
    def _search(self, sources: Sequence[EncodedText], config: SearchConfig) -> list[list[Finished]]:
        """Return the best outputs of each source, which contain the phrases of the glossary."""
        limits = [limit_of(each, config) for each in sources]
        keys, phrases = [each.text for each in sources], self._phrases(sources, config)
        backend = self._steered_backend(sources)
        found = search(backend, self.memory(sources), limits, keys, config)

        def search_again(number: int) -> list[Finished]:
            memory, inside = self.memory([sources[number]]), self.tokenizer.inside_words
            backend = self._steered_backend([sources[number]])
            forced = constrained_search(
                backend, memory, limits[number], phrases[number], config, inside
            )
            model, *others = self.in_torch()
            # terms are put in by the attention of one model over one text
            if others or model.inputs or not model.model.decoder.attends or not self.glossary:
                return forced
            return with_terms(
                model,
                self.glossary,
                model.alignment,
                sources[number],
                free=found[number],
                forced=forced,
                config=config,
            )

        return with_phrases(found, phrases, search_again)

    @torch.inference_mode()
    def _continued(self, source: EncodedText, count: int) -> list[Continuation]:
        backend, memory = self._steered_backend([source]), self.memory([source])
        prepared, state = backend.start(memory)
        tokens = torch.full((1,), START, device=memory.mask.device)
        for given in source.prefix.ids:
            state = backend.step(tokens, state, prepared).state
            # token by token, because recurrent decoders have no other way to read a prefix
            tokens = torch.full_like(tokens, given)
        most = self._first_tokens(count)
        rows = torch.zeros(most, dtype=torch.long, device=tokens.device)
        ids, log_probs = list[Tensor](), list[Tensor]()
        for _ in range(WORD_TOKENS):
            step = backend.step(tokens, state, prepared)
            found, state = step.log_probs, step.state
            found[:, :FIRST_OUTPUT].fill_(-torch.inf)
            if not ids:
                values, tokens = found[0].topk(most)
                state = select(state, rows)
            else:
                values, tokens = found.max(1)
            ids, log_probs = [*ids, tokens], [*log_probs, values]
        table = zip(torch.stack(ids, 1).tolist(), torch.stack(log_probs, 1).tolist(), strict=True)
        return [Continuation(*one) for one in table]


class Translator(TorchModel, TorchSearch):
    """A text model on a device. Its output for a text does not depend on the batch."""

    source = "text"

    def __init__(self, bundle: Bundle, device: str = "cpu") -> None:
        super().__init__(bundle, device)
        self.tokenizer_config, self.alignment = bundle.tokenizer_config, bundle.alignment
        self.statistical, self.prepare = bundle.statistical, bundle.prepare
        self.lexicon = Lexicon(bundle.lexicon) if bundle.lexicon else None
        self.calibration = bundle.confidence

    def in_torch(self) -> tuple[Translator, ...]:
        """Return this model."""
        return (self,)

    def images(self, rows: Sequence[str]) -> Tensor | None:
        """Return the features (B, S, V) of images that rows name; None if the model reads none."""
        return None

    def memory(self, sources: Sequence[EncodedText]) -> Memory:
        """Return the memory of encoded texts, padded to the longest."""
        images = self.images([each.text for each in sources])
        memory = self.model.encode(*pad([each.ids for each in sources], self.device), images)
        first = [self.tokenizer.target_start(each.to) for each in sources]
        if any(first):
            memory = memory._replace(first=torch.tensor(first, device=self.device))
        looks = [each.looks for each in sources]
        if not any(looks):
            return memory
        spans = [
            source_text(self.tokenizer.source, each.ids, each.read, each.entries).tokens
            for each in sources
        ]
        return with_looks(memory, looks, spans)

    def _backend(self) -> Backend:
        return self.model

    @torch.inference_mode()
    def _scored(self, source: EncodedText, text: str, config: SearchConfig) -> Finished:
        return rescored(self, source, text, config)


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

    def with_address(self, form: str) -> Self:
        """Return this ensemble with a form of address; see `TextTranslator`."""
        other = super().with_address(form)
        other.members = tuple(member.with_address(form) for member in self.members)
        return other

    def with_lexicon(self, entries: Sequence[tuple[str, LexiconEntry]]) -> Self:
        """Return this ensemble with further entries of every lexicon; see `TextTranslator`."""
        other = copy.copy(self)
        other.members = tuple(member.with_lexicon(entries) for member in self.members)
        return other

    def in_torch(self) -> tuple[Translator, ...]:
        """Return the members."""
        return self.members

    @property
    def why_unsteered(self) -> str:
        """Why a look cannot steer one of the models; "" if it can steer all."""
        return next(filter(None, (member.why_unsteered for member in self.members)), "")

    def fault(self, text: str) -> str:
        """Return why one of the models cannot read a row; "" if all can."""
        return next(filter(None, (member.fault(text) for member in self.members)), "")

    def unknown_characters(self, text: str) -> str:
        """Return the characters of a text that the first model has no token for."""
        return self.members[0].unknown_characters(text)

    def _encoded(
        self, texts: Sequence[tuple[str, str]], languages: Sequence[str], *, first: int
    ) -> list[EncodedText]:
        """Encode texts for each model: with its vocabulary, and entries of its lexicon.

        The models vote on a text of one word, too: each lexicon is that of one of them.
        """
        every = (member._encoded(texts, languages, first=first) for member in self.members)
        return [one[0]._replace(known=(), members=one) for one in zip(*every, strict=True)]

    def read_with_entries(
        self, text: str, to: str = "", language: str = ""
    ) -> tuple[list[int], tuple[FoundForm, ...]]:
        """Return the ids of the first model, and the entries that one of the models reads."""
        every = [member.read_with_entries(text, to, language) for member in self.members]
        return every[0][0], tuple(sorted({one for _, found in every for one in found}))

    def memory(self, sources: Sequence[EncodedText]) -> Memories:
        """Return the memory of texts in each model."""
        return Memories(
            tuple(
                member.memory([each.members[n]._replace(looks=each.looks) for each in sources])
                for n, member in enumerate(self.members)
            )
        )

    def _backend(self) -> EnsembleBackend:
        return EnsembleBackend([member.model for member in self.members])
