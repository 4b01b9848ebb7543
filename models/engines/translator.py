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
from models.core.types import Memory, Span
from models.core.use_config import SearchConfig
from models.engines.text_translator import EncodedText, TextTranslator
from models.engines.trained import TorchModel
from models.networks.bundle import Bundle
from models.networks.decoder import shifted
from models.networks.losses import sequence_loss
from models.search.batching import pad, pad_pairs
from models.search.beam import search
from models.search.constrained import constrained_search, with_phrases
from models.search.hypotheses import Backend, Finished, length_limit
from models.text.languages import FoundTerm
from models.text.tokenizer import END
from models.text.units import Units, decoded_spans, units

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


class EnsembleStep(NamedTuple):
    """Result of one decoding step of all models."""

    log_probs: Tensor  # (R, Y)
    state: States


class EnsembleBackend:
    """Several models as one backend of the search."""

    def __init__(self, members: Sequence[Backend]) -> None:
        self.members = tuple(members)

    def start(self, memory: Memories) -> tuple[States, States]:
        """Return the prepared memories and the states before the first token."""
        pairs = zip(self.members, memory.parts, strict=True)
        prepared, states = zip(*(member.start(part) for member, part in pairs), strict=True)
        return prepared, states

    def step(self, tokens: Tensor, state: States, prepared: States) -> EnsembleStep:
        """Return the mean of the probabilities after one more token per row, (R,)."""
        parts = zip(self.members, state, prepared, strict=True)
        steps = [member.step(tokens, own, memory) for member, own, memory in parts]
        mean = mean_log_probs([step.log_probs for step in steps])
        return EnsembleStep(mean, tuple(step.state for step in steps))


def mean_log_probs(log_probs: Sequence[Tensor]) -> Tensor:
    """Return the logarithm of the mean of probabilities, given their logarithms (R, Y).

    The mean of equal numbers is exactly this number.
    """
    each = torch.stack(list(log_probs))  # (M, R, Y)
    greatest = each.amax(0)
    return greatest + (each - greatest).exp().mean(0).log()


def check_equal(
    members: Sequence[M], names: Sequence[str], what: str, value_of: Callable[[M], Any]
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


def target_tokens(member: Any) -> tuple[str, ...]:
    """Return the tokens of a model's outputs, by id."""
    return member.tokenizer.pieces(range(member.tokenizer.target.get_piece_size()))


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
            forced = constrained_search(
                self._backend(), memory, limits[number], phrases[number], config, inside
            )
            model, *others = self.in_torch()
            if others or model.inputs or not model.model.decoder.attends:
                return forced
            return with_terms(model, sources[number], found[number], forced, config)

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
        memory = self.model.encode(*pad([each.ids for each in sources], self.device), images)
        first = [self.tokenizer.target_start(each.to) for each in sources]
        return (
            memory._replace(first=torch.tensor(first, device=self.device)) if any(first) else memory
        )

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


# Terms of a glossary put into an output by attention. Where a search is forced to write a term, it
# often writes it beside the word that it replaces, or in another place. The output of the free
# search is kept instead, and the words that read the source term most are replaced.


LEAST = 0.3  # attention of a word on a term from which on the word translates it
ALONE = 0.7  # share of that in its attention on all words: a compound translates other words too
NEXT = 0.5  # of the largest attention, for a word beside it that belongs to the translation
LOWER = 7.5  # nats for each term by which a search may lower the log-probability to write it
MARKS = ".,;:!?()[]\"'“”„‚‘’«»…"  # at the ends of a word, which stay


def with_terms(
    translator: Translator,
    source: EncodedText,
    free: Sequence[Finished],
    forced: list[Finished],
    config: SearchConfig,
) -> list[Finished]:
    """Return forced outputs, or free ones with the terms put in where forcing lowers the score.

    free: outputs of the search without terms, best first.
    """
    text = decoded_spans(translator.tokenizer.source, source.ids)[0]
    terms = translator.glossary.found(text) if translator.glossary else []
    if not terms or not forced or free[0].log_prob - forced[0].log_prob <= LOWER * len(terms):
        return forced
    texts = [put_in(translator, source, one, terms) for one in free]
    if texts[0] is None:
        return forced
    different = dict.fromkeys(text for text in texts if text is not None)
    found = [rescored(translator, source, text, config) for text in different]
    ids = {one.ids for one in found}
    return [*found, *(one for one in forced if one.ids not in ids)][: config.nbest]


def put_in(
    translator: Translator, source: EncodedText, free: Finished, terms: Sequence[FoundTerm]
) -> str | None:
    """Return the text of an output with the terms in place of what translates them.

    None if a term is translated by no word for sure, or by a word that translates others too.
    """
    ids, settings = [*free.ids, END], translator.alignment
    layer = settings.layer - 1 if settings.layer else translator.model.decoder.shown_layer
    batch = pad_pairs([source.ids], [ids], translator.device)
    heads = translator.model.teacher_force(batch, want_heads=(layer,)).heads
    assert heads is not None
    every = heads[0, 0].float()  # (H, T, S)
    weights = every[settings.head - 1] if settings.head else every.mean(0)
    weights = shifted(weights, settings.shift).cpu()  # (T, S)
    of_source = decoded_spans(translator.tokenizer.source, source.ids)[1]
    words = torch.tensor([b > a for a, b in of_source])
    target = units(translator.tokenizer.target, ids, kind="word", marks=False)
    text = decoded_spans(translator.tokenizer.target, ids)[0]
    places = []
    for term in terms:
        inside = torch.tensor([a < term.span[1] and b > term.span[0] for a, b in of_source])
        place = translated_by(weights[:, inside].sum(-1), weights[:, words].sum(-1), target)
        if place is None:
            return None
        places.append((place, term.target))
    places.sort()
    if any(one[0][1] > other[0][0] for one, other in zip(places, places[1:], strict=False)):
        return None
    for (start, end), written in reversed(places):
        text = text[:start] + written + text[end:]
    return text


def translated_by(shares: Tensor, totals: Tensor, target: Units) -> Span | None:
    """Return the characters of the words whose tokens read a term most, their marks left out.

    shares, totals: attention (T,) on the term, and on all words. None if no word reads it alone.
    """
    sizes = target.shares.sum(0).clamp_min(1e-9)
    of_words, of_all = ((each @ target.shares / sizes).tolist() for each in (shares, totals))
    best = max(range(len(of_words)), key=of_words.__getitem__, default=-1)
    if best < 0 or of_words[best] < max(LEAST, ALONE * of_all[best]):
        return None
    first = last = best
    while first and of_words[first - 1] > NEXT * of_words[best]:
        first -= 1
    while last + 1 < len(of_words) and of_words[last + 1] > NEXT * of_words[best]:
        last += 1
    start, end = target.spans[first][0], target.spans[last][1]
    words = " ".join(target.texts[first : last + 1])
    before = len(words) - len(words.lstrip(MARKS))
    return start + before, end - (len(words) - len(words.rstrip(MARKS)))


def rescored(
    translator: Translator, source: EncodedText, text: str, config: SearchConfig
) -> Finished:
    """Return a text as an output of a model with its log-probability."""
    ids = translator.tokenizer.target.encode(text)
    batch = pad_pairs([source.ids], [[*ids, END]], translator.device)
    found = translator.model.teacher_force(batch)
    log_prob = -float(sequence_loss(found, batch, translator.model.output).nll.sum())
    return Finished.scored(ids, log_prob, config)
