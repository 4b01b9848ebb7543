"""Steering: an output that begins with a given text, and words that attend to chosen places alone.

    p(y_t) = 0 for tokens that do not continue the prefix
    weights = Normalise(Window(Score(query, keys)) and the look of the word that the step writes)

A look belongs to output words, but a step does not know whether its token continues the last word
or begins a new one. Where their looks differ, the step is computed with the look of the last word.
If a new word is then more probable than a continuation, the step is computed again with the look of
the new word, and only a new word follows; else the word goes on.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.core.errors import InputError
from models.core.types import Looks, Memory, Span, at_steps
from models.core.use_config import SearchConfig
from models.engines.trained import TorchModel, check_looks
from models.search.beam import search
from models.search.hypotheses import Backend, CombinedStep, Finished
from models.search.steering import PLAIN, Look, Steering, TargetPrefix
from models.text.tokenizer import END, SPACE, START, Tokenizer

NEVER = torch.iinfo(torch.long).max  # word of a look that holds for no word


class TargetWords:
    """What the tokens of a target vocabulary do to words, as tensors (Y,)."""

    @staticmethod
    @lru_cache(maxsize=8)
    def of(tokenizer: Tokenizer, device: torch.device) -> TargetWords:
        """Return the vocabulary of a tokenizer on a device."""
        return TargetWords(tokenizer, device)

    def __init__(self, tokenizer: Tokenizer, device: torch.device) -> None:
        target = tokenizer.target
        self.pieces = tokenizer.pieces(range(target.get_piece_size()))
        self.begins = torch.tensor([one.startswith(SPACE) for one in self.pieces], device=device)
        controls = [bool(target.is_control(number)) for number in range(len(self.pieces))]
        self.controls = torch.tensor(controls, device=device)
        self.sizes = torch.tensor([*map(len, self.pieces)], device=device)
        self.inside = torch.zeros_like(self.begins)  # continues a word by a letter
        # digits and marks may follow a complete phrase; a letter would change its last word
        self.inside[torch.tensor(tokenizer.inside_words, dtype=torch.long, device=device)] = True
        self.separates = self.begins.clone()  # begins a word, or ends the last one
        self.separates[END] = True

    @cached_property
    def _sorted(self) -> list[tuple[str, int]]:
        real = enumerate(zip(self.pieces, self.controls.tolist(), strict=True))
        # sorted once, so that the tokens with a prefix are found by bisection
        return sorted((piece, number) for number, (piece, control) in real if not control)

    def after(self, words: Tensor, tokens: Tensor) -> Tensor:
        """Return the number of words (R,) that have begun after tokens (R,)."""
        return words + (self.begins[tokens] | ((words == 0) & ~self.controls[tokens]))

    def continuing(self, text: str) -> Tensor:
        """Return True for the tokens that can go on where pieces must be written, (Y,)."""
        order, found = self._sorted, torch.zeros_like(self.begins)
        # the highest character of Unicode sorts behind everything that continues the text
        last = bisect_right(order, (f"{text}\U0010ffff", 0))
        numbers = [number for _, number in order[bisect_left(order, (text, 0)) : last]]
        for end in range(1, len(text)):
            at = bisect_left(order, (text[:end], 0))
            while at < len(order) and order[at][0] == text[:end]:
                numbers.append(order[at][1])
                at += 1
        found[torch.tensor(numbers, dtype=torch.long, device=found.device)] = True
        return found


class WordLooks(NamedTuple):
    """The words of each look of B sentences; look 0 holds for none."""

    first: Tensor  # (B, L) 0: the first word behind the prefix
    last: Tensor  # (B, L)

    @classmethod
    def of(cls, looks: Sequence[Sequence[Look]], device: torch.device) -> WordLooks:
        """Return the words of looks."""
        most = max(map(len, looks))
        rows = [[(one.first, one.last or NEVER) for one in each] for each in looks]
        none = (NEVER, 0)
        filled = [[none, *row, *[none] * (most - len(row))] for row in rows]
        return cls(*torch.tensor(filled, device=device).unbind(-1))

    def of_words(self, words: Tensor, free: Tensor) -> Tensor:
        """Return the look of each of the words (R,); R is a multiple of B.

        free (R,): False where the prefix is written.
        """
        first, last = (part[rows_of(part, words)] for part in self)  # (R, L)
        holds = (words[:, None] >= first) & (words[:, None] <= last)
        holds = holds & (free[:, None] | (first > 0))
        return (holds * torch.arange(first.shape[1], device=words.device)).amax(1)


def rows_of(inputs: Tensor, hypotheses: Tensor) -> Tensor:
    """Return the input of each hypothesis, (R,); those of one input are adjacent."""
    rows = torch.arange(len(inputs), device=inputs.device)
    return rows.repeat_interleave(len(hypotheses) // len(rows))


class SteeredMemory(NamedTuple):
    """Prepared memory of B sentences, and what steers them."""

    inner: Any
    given: Tensor  # (B, P + 1) tokens of the prefixes, -1 behind them
    open: Tensor  # (B, C + 1, Y) tokens that may follow a number of characters of the open word
    left: Tensor  # (B,) characters of the open word
    ends: Tensor  # (B,) see TargetPrefix
    looks: WordLooks


class SteeredState(NamedTuple):
    """State of R hypotheses."""

    inner: Any
    words: Tensor  # (R,) that have begun
    length: Tensor  # (R,) tokens that are written
    open: Tensor  # (R,) characters of the open word that are written


class PrefixPlace(NamedTuple):
    """Where R hypotheses are in their prefixes."""

    may: Tensor  # (R, Y) tokens that may follow
    free: Tensor  # (R,) True behind the prefix
    words: Tensor  # (R,) word of the next token; behind the prefix, the last word


class SteeredBackend:
    """A model, or several, whose outputs are steered."""

    def __init__(
        self,
        backend: Backend,
        prefixes: Sequence[TargetPrefix],
        looks: Sequence[Sequence[Look]],
        vocabulary: TargetWords,
    ) -> None:
        self.backend, self.vocabulary = backend, vocabulary
        self.prefixes, self.looks = prefixes, looks

    def start(self, memory: Any) -> tuple[SteeredMemory, SteeredState]:
        """Return the prepared memory, and the state before any token."""
        inner, state = self.backend.start(memory)
        return self.steered(inner), self.before(state)

    def steered(self, inner: Any) -> SteeredMemory:
        """Return a prepared memory with what steers its sentences."""
        vocabulary, prefixes = self.vocabulary, self.prefixes
        device, longest = vocabulary.begins.device, max(len(one.ids) for one in prefixes)
        given = [[*one.ids, *[-1] * (longest + 1 - len(one.ids))] for one in prefixes]
        every = torch.ones_like(vocabulary.begins)
        most = max(len(one.open) for one in prefixes)
        tables = [
            [vocabulary.continuing(one.open[at:]) for at in range(len(one.open))]
            for one in prefixes
        ]
        filled = [torch.stack([*each, *[every] * (most + 1 - len(each))]) for each in tables]
        return SteeredMemory(
            inner,
            torch.tensor(given, device=device),
            torch.stack(filled),
            torch.tensor([len(one.open) for one in prefixes], device=device),
            torch.tensor([one.ends for one in prefixes], device=device),
            WordLooks.of(self.looks, device),
        )

    def before(self, inner: Any) -> SteeredState:
        """Return the state before any token."""
        device = self.vocabulary.begins.device
        zeros = torch.zeros(len(self.prefixes), dtype=torch.long, device=device)
        return SteeredState(inner, zeros, zeros, zeros)

    def step(self, tokens: Tensor, state: SteeredState, prepared: SteeredMemory) -> CombinedStep:
        """Return the distribution, -inf for tokens that may not follow, and the state."""
        state = self._after(tokens, state, prepared)
        place = self._place(state, prepared)
        may, numbers = place.may, prepared.looks.of_words(place.words, place.free)
        log_probs, inner = self._step(tokens, state, prepared, numbers)
        others = prepared.looks.of_words(state.words + 1, place.free)
        unsure = place.free & (state.words > 0) & (numbers != others)
        # a second step only where the looks of both words differ, because it doubles the time
        if bool(unsure.any()):
            separates = self.vocabulary.separates
            left = log_probs.masked_fill(~may, -torch.inf)
            moves = left[:, separates].logsumexp(1) > left[:, ~separates].logsumexp(1)
            numbers = torch.where(unsure & moves, others, numbers)
            log_probs, inner = self._step(tokens, state, prepared, numbers)
            may = may & ~((unsure & moves)[:, None] & ~separates)
            may = may & ~((unsure & ~moves)[:, None] & self.vocabulary.begins)
        log_probs = log_probs.masked_fill(~may, -torch.inf)
        return CombinedStep(log_probs, state._replace(inner=inner))

    def _step(
        self, tokens: Tensor, state: SteeredState, prepared: SteeredMemory, numbers: Tensor
    ) -> tuple[Tensor, Any]:
        """Return log-probabilities and state of a step with the looks `numbers` (R,)."""
        inner = prepared.inner
        if any(self.looks):
            inner = at_steps(inner, numbers[:, None])
        found = self.backend.step(tokens, state.inner, inner)
        return found.log_probs, found.state

    def _after(self, tokens: Tensor, state: SteeredState, prepared: SteeredMemory) -> SteeredState:
        """Return the state after tokens (R,) were written; START is none."""
        rows = rows_of(prepared.given, tokens)
        behind = state.length >= (prepared.given >= 0).sum(1)[rows]
        real = tokens != START
        opened = state.open + self.vocabulary.sizes[tokens] * (behind & real)
        return SteeredState(
            state.inner,
            self.vocabulary.after(state.words, tokens),
            state.length + real,
            torch.minimum(opened, prepared.left[rows]),
        )

    def _place(self, state: SteeredState, prepared: SteeredMemory) -> PrefixPlace:
        """Return where hypotheses are in their prefixes."""
        rows, vocabulary = rows_of(prepared.given, state.words), self.vocabulary
        most = (prepared.given >= 0).sum(1)[rows]
        given = prepared.given[rows].gather(1, torch.minimum(state.length, most)[:, None])  # (R, 1)
        known = given >= 0
        opening = ~known[:, 0] & (state.open < prepared.left[rows])
        may = prepared.open[rows, state.open]  # (R, Y)
        ending = (prepared.ends[rows] & (state.length == most))[:, None]
        may = may & ~(ending & vocabulary.inside)
        only = torch.zeros_like(may).scatter_(1, given.clamp_min(0), True)
        words = vocabulary.after(state.words, given.clamp_min(0)[:, 0])
        words = torch.where(known[:, 0], words, state.words + (opening & (state.open == 0)))
        free = ~known[:, 0] & ~opening
        return PrefixPlace(torch.where(known, only, may), free, words.clamp_min(1))

    def numbers(self, target: Tensor) -> Tensor:
        """Return the look (B, T) of the step that writes each token of outputs (B, T)."""
        prepared, state = self.steered(()), self.before(())
        tokens, found = torch.full_like(target[:, 0], START), []
        for following in target.unbind(1):
            state = self._after(tokens, state, prepared)
            place = self._place(state, prepared)
            words = state.words + self.vocabulary.separates[following]
            words = torch.where(place.free, words.clamp_min(1), place.words)
            found.append(prepared.looks.of_words(words, place.free))
            tokens = following
        return torch.stack(found, 1)


def with_looks(
    memory: Memory, looks: Sequence[Sequence[Look]], spans: Sequence[Sequence[Span]] = ()
) -> Memory:
    """Return a memory with the slots of the looks of each sentence.

    spans: the places of each slot; without them, slot s is place s. Raises InputError for a look
    that has no slot.
    """
    if not any(looks):
        return memory
    size = memory.mask.shape[1]
    slots = torch.ones(len(looks), 1 + max(map(len, looks)), size, dtype=torch.bool)
    for row, each in enumerate(looks):
        own = spans[row] if spans else [(slot, slot + 1) for slot in range(size)]
        for number, look in enumerate(each, 1):
            inside = [any(a < end and b > start for start, end in look.places) for a, b in own]
            slots[row, number] = False
            slots[row, number, : len(own)] = torch.tensor(inside)
    slots = slots.to(memory.mask.device)
    if not bool((slots & memory.mask[:, None]).any(2).all()):
        raise InputError("a look at a place that the model does not read", "a part of the input")
    return memory._replace(looks=Looks(slots))


def steered_search(
    model: TorchModel,
    memory: Memory,
    limits: list[int],
    keys: list[str],
    config: SearchConfig,
    steering: Sequence[Steering],
) -> list[list[Finished]]:
    """Return the best outputs of each input; see `models.search.beam.search`.

    steering: of each input; places of looks are slots.
    """
    if all(one == PLAIN for one in steering):
        return search(model.model, memory, limits, keys, config)
    check_looks(model, steering)
    backend = backend_of(model, steering)
    pairs = zip(limits, backend.prefixes, strict=True)
    # the limit is of what the model writes behind the prefix
    limits = [limit + len(prefix.ids) for limit, prefix in pairs]
    memory = with_looks(memory, backend.looks)
    return search(backend, memory, limits, keys, config)


def backend_of(model: TorchModel, steering: Sequence[Steering]) -> SteeredBackend:
    """Return the model whose outputs are steered."""
    prefixes = [TargetPrefix.of(one.prefix, model.tokenizer) for one in steering]
    vocabulary = TargetWords.of(model.tokenizer, model.device)
    return SteeredBackend(model.model, prefixes, [one.looks for one in steering], vocabulary)


def looked_at(
    model: TorchModel, memory: Memory, steering: Sequence[Steering], target: Tensor
) -> Memory:
    """Return a memory whose slots are those of the looks when outputs (B, T) are computed."""
    if not any(one.looks for one in steering):
        return memory
    backend = backend_of(model, steering)
    memory = with_looks(memory, backend.looks)
    assert memory.looks is not None
    return memory._replace(looks=memory.looks._replace(number=backend.numbers(target)))
