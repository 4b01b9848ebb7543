"""The settings that vary training examples, and the examples that they make."""

from __future__ import annotations

from collections.abc import Sequence

from attncli.data.batching import Examples
from attncli.data.mixture import Direction, Mixture, Variation
from attncli.data.tokens import TokenPairs
from attncli.training.config import RunConfig
from models.tokenizer import Tokenizer


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
    if not (variation.noise or variation.concatenate or variation.sampling):
        return pairs
    return mixed([Direction("", pairs.source, pairs.target)], tokenizer, config)


def mixed(directions: Sequence[Direction], tokenizer: Tokenizer, config: RunConfig) -> Mixture:
    """Return the pairs of several directions as examples."""
    return Mixture.of(directions, tokenizer, variation_of(config))
