"""Subword sampling: another segmentation of the same text in every epoch, as regularisation.

unigram   P(x) ~ prod_i p(x_i)^alpha over the segmentations of a word      Kudo 2018, section 3.2
bpe       every merge is skipped with probability p = alpha                Provilkov et al. 2020

Tokens do not cross spaces, so words are sampled one by one, and the probability of a sentence is
the product over its words. SentencePiece can sample too, but its random numbers cannot be seeded
per example. Here the caller passes `rng`, so a resumed training run repeats the segmentations.
"""

from __future__ import annotations

import math
import random
from functools import lru_cache
from itertools import accumulate
from typing import Any

from models.text.tokenizer import SPACE

SEGMENTATIONS = 32  # most probable segmentations of a word that are sampled from
CACHED_WORDS = 200_000


class SubwordSampler:
    """Random segmentations of one SentencePiece model.

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
        sample = self._unigram if self.kind == "unigram" else self._bpe
        return [number for word in words for number in sample(word, rng)]

    def _unigram(self, word: str, rng: random.Random) -> list[int]:
        segmentations, cumulative = self._candidates(word)
        return rng.choices(segmentations, cum_weights=cumulative)[0]

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
