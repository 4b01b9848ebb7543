"""The settings that vary training examples, and the examples that they make."""

from __future__ import annotations

from attncli.data.batching import Examples
from attncli.data.text.mixture import Direction, Mixture, Variation
from attncli.data.text.tokens import TokenPairs
from attncli.training.settings.config import RunConfig
from models.text.tokenizer import Tokenizer


def variation_of(config: RunConfig) -> Variation:
    """Return how a run varies its examples."""
    data, train = config.data, config.train
    return Variation(
        seed=train.seed,
        temperature=data.temperature,
        concatenate=data.concatenate,
        noise=data.noise,
        sampling=train.subword_sampling,
        kind=config.tokenizer.kind,
        longest=min(data.max_length, config.model.max_source),
    )


def varied(pairs: TokenPairs, tokenizer: Tokenizer, config: RunConfig) -> Examples:
    """Return the pairs of one direction as examples; the pairs themselves if nothing varies."""
    variation = variation_of(config)
    if variation.noise or variation.concatenate or variation.sampling:
        return Mixture.of([Direction("", pairs.source, pairs.target)], tokenizer, variation)
    return pairs
