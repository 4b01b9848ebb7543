"""The settings that vary training examples, and the examples that they make."""

from __future__ import annotations

from attncli.data.batching import Examples
from attncli.data.text.mixture import Direction, Mixture, Variation
from attncli.data.text.tokens import TokenPairs
from attncli.training.settings.preparation import Preparation
from models.text.tokenizer import Tokenizer


def variation_of(settings: Preparation, sampling: float) -> Variation:
    """Return how a run varies its examples. sampling: train.subword_sampling."""
    data = settings.data
    return Variation(
        seed=settings.seed,
        temperature=data.temperature,
        concatenate=data.concatenate,
        noise=data.noise,
        sampling=sampling,
        kind=settings.tokenizer.kind,
        longest=settings.longest,
    )


def varied(pairs: TokenPairs, tokenizer: Tokenizer, variation: Variation) -> Examples:
    """Return the pairs of one direction as examples; the pairs themselves if nothing varies."""
    if variation.noise or variation.concatenate or variation.sampling:
        return Mixture.of([Direction("", pairs.source, pairs.target)], tokenizer, variation)
    return pairs
