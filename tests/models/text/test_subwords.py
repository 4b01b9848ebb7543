"""Subword sampling: the same text, other tokens, and the usual ones without randomness."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from attncli.embedded.grammar import Pair
from models.text.tokenizer import Tokenizer, train
from models.text.units import SubwordSampler
from models.use_config import TokenizerConfig

TEXTS = [
    "The old dog sees a small house.",
    "Größe, naïveté",
    "犬 and 🇩🇪!",
    "two  spaces",
    " ",
    "",
    "x",
]
KINDS = ["unigram", "bpe"]


def tokenizer(kind: str, pairs: list[Pair]) -> Tokenizer:
    sides = [p.source for p in pairs], [p.target for p in pairs]
    return train(*sides, 400, TokenizerConfig(kind=kind))


@pytest.mark.parametrize("kind", KINDS)
def test_every_sample_decodes_to_the_text(kind: str, tiny_pairs: list[Pair]) -> None:
    processor = tokenizer(kind, tiny_pairs).source
    sampler, rng = SubwordSampler(processor, kind, 0.3), random.Random(1)
    for text in TEXTS:
        for _ in range(20):
            assert processor.decode(sampler.encode(text, rng)) == text
    seen = {tuple(sampler.encode(TEXTS[0], rng)) for _ in range(20)}
    assert len(seen) > 10


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_random_numbers_give_the_same_tokens(kind: str, tiny_pairs: list[Pair]) -> None:
    processor = tokenizer(kind, tiny_pairs).source
    first, second = (SubwordSampler(processor, kind, 0.3) for _ in range(2))
    first.encode(TEXTS[1], random.Random(7))  # what was cached before changes nothing
    for seed in range(5):
        one, other = random.Random(seed), random.Random(seed)
        assert first.encode(TEXTS[0], one) == second.encode(TEXTS[0], other)


def test_bpe_without_dropout_is_the_usual_segmentation(tiny_pairs: list[Pair]) -> None:
    processor = tokenizer("bpe", tiny_pairs).source
    sampler = SubwordSampler(processor, "bpe", 0.0)
    for text in [*TEXTS, *(pair.target for pair in tiny_pairs[:50])]:
        assert sampler.encode(text, random.Random(1)) == processor.encode(text)


def test_unigram_samples_by_the_probabilities_to_the_power_alpha(tiny_pairs: list[Pair]) -> None:
    """Kudo 2018: P(x) ~ prod p(x_i)^alpha, counted over many samples of one word."""
    processor, alpha, word = tokenizer("unigram", tiny_pairs).source, 0.5, "houses"
    sampler, rng = SubwordSampler(processor, "unigram", alpha), random.Random(3)
    counts = Counter(tuple(sampler.encode(word, rng)) for _ in range(4000))
    candidates = processor.nbest_encode_as_ids(word, 32)
    weights = [math.exp(alpha * sum(map(processor.get_score, ids))) for ids in candidates]
    for ids, weight in zip(candidates, weights, strict=True):
        assert counts[tuple(ids)] / 4000 == pytest.approx(weight / sum(weights), abs=0.03)
