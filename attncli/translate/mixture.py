"""Mixtures of corpora, and noise in their sources."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import torch

from attncli.training.examples import Examples, Side
from models.core.types import Batch
from models.search.batching import pad_pairs
from models.text.tokenizer import END, SPACE, Tokenizer, decode_text

FINAL = ".!?…。！？"  # punctuation that is left out at the end
OPENING = "¿¡"
Change = Callable[[str, random.Random], str]
MAX_JOINED_PAIRS = 4  # pairs of one example
LENGTHS = {2: 0.6, 3: 0.2, 4: 0.2}  # pairs of a concatenated example: share of such examples
NEIGHBOURS = 0.5  # share of concatenated examples whose pairs are adjacent in their corpus
SEGMENTATIONS = 32  # most probable segmentations of a word that are sampled from
CACHED_WORDS = 200_000


def add_noise(text: str, rng: random.Random) -> str:
    """Return a text with one kind of noise; the text itself where the noise would empty it.

    A model learns from it to translate carelessly typed text. Source: Belinkov and Bisk 2018,
    Synthetic and Natural Noise Both Break Neural Machine Translation, section 4.
    """
    change = rng.choices([change for change, _ in KINDS], [weight for _, weight in KINDS])[0]
    changed = change(text, rng)
    return changed if changed.strip() else text


def without_final_mark(text: str) -> str:
    """Return the text without its final punctuation."""
    return text.rstrip(FINAL + " ").lstrip(OPENING)


def typo(text: str, rng: random.Random) -> str:
    """Return the text with one letter left out, doubled, or swapped with the next one."""
    places = [
        n for n in range(len(text) - 1) if text[n].isalpha() and text[n + 1].isalpha() and n > 0
    ]
    if not places:
        return text
    n, kind = rng.choice(places), rng.randrange(3)
    middle = ("", text[n] * 2, text[n + 1] + text[n])[kind]
    return text[:n] + middle + text[n + 1 + (kind == 2) :]


KINDS: tuple[tuple[Change, float], ...] = (
    (lambda text, rng: text.lower(), 6),
    (lambda text, rng: without_final_mark(text), 4),
    (lambda text, rng: without_final_mark(text).lower(), 3),
    (typo, 4),
    (lambda text, rng: text.upper(), 1),
)  # and their relative frequency


class Direction(NamedTuple):
    """The training pairs of one direction."""

    name: str  # such as en-de
    source: Side
    target: Side
    prefix: tuple[int, ...] = ()  # tokens in front of the source,
    target_prefix: tuple[int, ...] = ()  # and of the target
    weight: float = 1.0  # factor on its share of an epoch

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return len(self.source)


@dataclass(frozen=True)
class Variation:
    """Differences between the examples of an epoch and the stored pairs."""

    seed: int = 1
    temperature: float = 1.0
    concatenate: float = 0.0
    noise: float = 0.0
    sampling: float = 0.0  # alpha of subword sampling
    kind: str = "unigram"  # of the tokenizer
    examples: int = 0  # of an epoch; 0: as many as there are pairs
    longest: int = 256  # tokens of a side; longer variants are not used


@dataclass(frozen=True)
class Mixture(Examples):
    """Examples of one epoch. `rows` (M, K): pair numbers of each example, padded with -1.

    Pairs are numbered through all directions. Without an epoch, every pair is one example.
    """

    directions: tuple[Direction, ...]
    tokenizer: Tokenizer
    variation: Variation
    rows: np.ndarray
    epoch: int | None = None

    @classmethod
    def of(
        cls, directions: Sequence[Direction], tokenizer: Tokenizer, variation: Variation
    ) -> Mixture:
        """Return every pair of some directions once, unchanged; `at` returns those of an epoch."""
        count = sum(direction.pairs for direction in directions)
        return cls(tuple(directions), tokenizer, variation, np.arange(count)[:, None])

    @cached_property
    def starts(self) -> np.ndarray:
        """Index of each direction's first pair, (D + 1,); the last entry is the number of pairs."""
        return np.cumsum([0, *(direction.pairs for direction in self.directions)])

    @cached_property
    def pair_lengths(self) -> np.ndarray:
        """Tokens of both sides of every pair (2, N), without END and prefix."""
        sides = [(d.source.lengths, d.target.lengths) for d in self.directions]
        return np.stack([np.concatenate(lengths) for lengths in zip(*sides, strict=True)]) - 1

    @cached_property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Tokens (M,) of every source and target, prefix and END included, before sampling."""
        real = self.rows >= 0
        source, target = np.where(real, self.pair_lengths[:, self.rows], 0).sum(-1) + 1
        before = self._prefixes[:, self.direction_of(self.rows[:, 0])]
        return source + before[0], target + before[1]

    @cached_property
    def _prefixes(self) -> np.ndarray:
        """Tokens in front of the sources and the targets of each direction (2, D)."""
        sides = [(len(one.prefix), len(one.target_prefix)) for one in self.directions]
        return np.array(sides).T

    def direction_of(self, pairs: np.ndarray) -> np.ndarray:
        """Return the number of the direction of each pair."""
        return np.searchsorted(self.starts, pairs, side="right") - 1

    def at(self, epoch: int) -> Mixture:
        """Return the examples of an epoch, counted from 0."""
        # 1: other numbers than those of the order of the batches
        rng = np.random.default_rng([self.variation.seed, epoch, 1])
        singles = self._singles(rng)
        share = self.variation.concatenate
        rows = self._with_concatenated(singles, rng) if share else singles[:, None]
        other = replace(self, rows=rows, epoch=epoch)
        for name in ("starts", "pair_lengths", "_prefixes", "_samplers"):  # of every epoch
            other.__dict__[name] = getattr(self, name)
        return other

    def _singles(self, rng: np.random.Generator) -> np.ndarray:
        """Sample the pairs of an epoch, in the shares of the temperature."""
        counts, temperature = np.diff(self.starts), self.variation.temperature
        equal = temperature == 1 and len({one.weight for one in self.directions}) == 1
        total = self.variation.examples or int(counts.sum())
        if total == counts.sum() and (equal or len(counts) == 1):
            return np.arange(self.starts[-1])
        quotas = divided(total, shares_of(self.directions, temperature), rng)
        return np.concatenate(
            [
                start + repeated(int(quota), int(count), rng)
                for start, quota, count in zip(self.starts, quotas, counts, strict=False)
            ]
        )

    def _with_concatenated(self, singles: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return rows (M, 4): single pairs, and as many concatenated ones as configured."""
        share = self.variation.concatenate
        first = rng.choice(singles, round(len(singles) * share / (1 - share)))  # (C,)
        direction = self.direction_of(first)
        start, size = self.starts[direction][:, None], np.diff(self.starts)[direction][:, None]
        near = start + (first[:, None] - start + np.arange(MAX_JOINED_PAIRS)) % size
        far = start + (rng.random((len(first), MAX_JOINED_PAIRS)) * size).astype(np.int64)
        far[:, 0] = first
        members = np.where(rng.random((len(first), 1)) < NEIGHBOURS, near, far)
        wanted = rng.choice(list(LENGTHS), len(first), p=list(LENGTHS.values()))
        source, target = self.pair_lengths[:, members].cumsum(-1) + 1  # (C, 4)
        before = self._prefixes[:, direction, None]  # (2, C, 1)
        fits = np.maximum(source + before[0], target + before[1]) <= self.variation.longest
        members[~fits | (np.arange(MAX_JOINED_PAIRS) >= wanted[:, None])] = -1
        alone = np.full((len(singles), MAX_JOINED_PAIRS), -1)
        alone[:, 0] = singles
        return np.concatenate([alone, members[members[:, 1] >= 0]])

    def batch(self, numbers: np.ndarray) -> Batch:
        """Return the padded batch of some examples."""
        examples = [self._example(int(number)) for number in numbers]
        sources, targets = zip(*examples, strict=True)
        return pad_pairs(sources, targets, torch.device("cpu"))

    def _example(self, number: int) -> tuple[list[int], list[int]]:
        """Return the ids of one example's source and target."""
        pairs = self.rows[number][self.rows[number] >= 0]
        place = int(self.direction_of(pairs[:1])[0])
        direction, inside = self.directions[place], pairs - self.starts[place]
        source, target = (
            [int(token) for pair in inside for token in side[pair][:-1]]
            for side in (direction.source, direction.target)
        )
        if self.epoch is not None:
            source, target = self._varied(source, target, number, len(direction.prefix))
        return [*direction.prefix, *source, END], [*direction.target_prefix, *target, END]

    def _varied(
        self, source: list[int], target: list[int], number: int, prefix: int
    ) -> tuple[list[int], list[int]]:
        """Apply noise and subword sampling to ids; a side that becomes too long stays unchanged."""
        variation = self.variation
        if not (variation.noise or variation.sampling):
            return source, target
        # by the example alone, so that a continued run, or any number of processes, varies it alike
        rng = random.Random(f"{variation.seed} {self.epoch} {number}")
        most = variation.longest - 1
        noisy = decode_text(self.tokenizer.source, source)
        if rng.random() < variation.noise:
            noisy = add_noise(noisy, rng)
        changed = self._encoded(noisy, "source", rng)
        said = target
        if variation.sampling:
            said = self._encoded(decode_text(self.tokenizer.target, target), "target", rng)
        return (
            changed if changed and len(changed) + prefix <= most else source,
            said if len(said) <= most else target,
        )

    def _encoded(self, text: str, side: str, rng: random.Random) -> list[int]:
        if self.variation.sampling:
            return self._samplers[side].encode(text, rng)
        return list(self.tokenizer.source.encode(text))

    @cached_property
    def _samplers(self) -> dict[str, SubwordSampler]:
        processors = {"source": self.tokenizer.source, "target": self.tokenizer.target}
        kind, alpha = self.variation.kind, self.variation.sampling
        return {side: SubwordSampler(one, kind, alpha) for side, one in processors.items()}


def shares_of(directions: Sequence[Direction], temperature: float) -> np.ndarray:
    """Return the share of each direction in an epoch: p_i ~ w_i n_i^(1/T).

    T = 1 keeps the shares of the data; a larger T brings them closer to each other. The weights w_i
    are not in the paper. Source: Arivazhagan et al. 2019, section 4.2.
    """
    counts = np.array([direction.pairs for direction in directions])
    weights = np.array([direction.weight for direction in directions])
    factors = weights * (counts / counts.sum()) ** (1 / temperature)
    return factors / factors.sum()


def divided(total: int, parts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Divide a total into whole numbers in given shares, which are exact in the mean of epochs.

    A part is rounded up with the probability of its remainder (systematic sampling), so that a
    share below one example gets its examples in some of the epochs.
    """
    ends = np.floor(np.cumsum(parts)[:-1] * total + rng.random()).astype(np.int64)
    return np.diff(ends, prepend=0, append=total)


def repeated(quota: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return `quota` numbers below `count`, whose frequencies differ by at most one."""
    whole, rest = divmod(quota, count)
    return np.concatenate([*[np.arange(count)] * whole, rng.permutation(count)[:rest]])


class SubwordSampler:
    """Random segmentations of one SentencePiece model: others in every epoch, as regularisation.

    unigram   P(x) ~ prod_i p(x_i)^alpha over the segmentations of a word      Kudo 2018, 3.2
    bpe       every merge is skipped with probability p = alpha                Provilkov et al. 2020

    Tokens do not cross spaces, so words are sampled one by one, and the probability of a sentence
    is the product over its words. SentencePiece can sample too, but its random numbers cannot be
    seeded per example. Here the caller passes `rng`, so a resumed training run repeats them.

    kind: unigram or bpe. alpha: exponent of the probabilities (unigram; small values are more
    random), or probability of skipping a merge (bpe; large values are more random).
    """

    def __init__(self, processor: Any, kind: str, alpha: float) -> None:
        self.processor, self.kind, self.alpha = processor, kind, alpha
        self._candidates = lru_cache(CACHED_WORDS)(self._candidates_of)
        self._merge_score = lru_cache(CACHED_WORDS)(self._score_of)

    def encode(self, text: str, rng: random.Random) -> list[int]:
        """Return the ids of a text; they decode to the same text whatever is sampled.

        A text with two spaces in a row, or with one at an end, has its usual segmentation.
        """
        words = text.split(" ")
        if not all(words) or SPACE in text:
            return list(self.processor.encode(text))
        found: list[int] = []
        for word in words:
            if self.kind == "unigram":
                segmentations, cumulative = self._candidates(word)
                found += rng.choices(segmentations, cum_weights=cumulative)[0]
            else:
                found += self._bpe(word, rng)
        return found

    def _candidates_of(self, word: str) -> tuple[list[list[int]], list[float]]:
        """Return the segmentations of a word and the running sum of their weights."""
        found = self.processor.nbest_encode_as_ids(word, SEGMENTATIONS)
        scores = [self.alpha * sum(map(self.processor.get_score, ids)) for ids in found]
        return found, [*accumulate(math.exp(score - max(scores)) for score in scores)]

    def _bpe(self, word: str, rng: random.Random) -> list[int]:
        """Merge the best pair of symbols until none is left; skip merges at random."""
        symbols = [*(SPACE + word)]
        while True:
            best, place = -math.inf, -1
            for n, pair in enumerate(zip(symbols, symbols[1:], strict=False)):
                score = self._merge_score("".join(pair))
                if score > best and not (self.alpha and rng.random() < self.alpha):
                    best, place = score, n
            if place < 0:
                return [number for symbol in symbols for number in self._ids(symbol)]
            symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]

    def _score_of(self, piece: str) -> float:
        """Return the score of a merge; minus infinity for one that the model does not have."""
        number = self.processor.piece_to_id(piece)
        known = number != self.processor.unk_id() and not self.processor.is_control(number)
        return float(self.processor.get_score(number)) if known else -math.inf

    def _ids(self, symbol: str) -> list[int]:
        """Return the id of a piece, or of the bytes of a character that has none."""
        number = self.processor.piece_to_id(symbol)
        if number != self.processor.unk_id():
            return [number]
        return [self.processor.piece_to_id(f"<0x{byte:02X}>") for byte in symbol.encode()]
