"""The settings that vary training examples, and the examples that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attncli.data.batching import Examples
from attncli.data.text.mixture import Direction, Mixture, Variation, quotas_of
from attncli.data.text.tokens import SelectedPairs, TokenPairs
from attncli.data.text.windows import PairRange, Select, WindowedExamples
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
    directions = [Direction("", pairs.source, pairs.target)]
    if variation.noise or variation.concatenate or variation.sampling:
        return mixed(directions, tokenizer, config)
    if pairs.count <= config.data.shuffle_window:
        return pairs
    return windowed(directions, config, lambda pieces, *_: SelectedPairs(pairs, numbers_of(pieces)))


def mixed(
    directions: Sequence[Direction], tokenizer: Tokenizer, config: RunConfig
) -> Mixture | WindowedExamples:
    """Return the pairs of several directions as examples."""
    variation = variation_of(config)
    if sum(direction.pairs for direction in directions) <= config.data.shuffle_window:
        return Mixture.of(directions, tokenizer, variation)

    def select(pieces: Sequence[PairRange], epoch: int, window: int) -> Mixture:
        parts = [directions[place].part(start, stop) for place, start, stop in pieces]
        seed = int(np.random.SeedSequence([variation.seed, window]).generate_state(1)[0])
        own = replace(variation, temperature=1.0, seed=seed)  # the parts have the right shares
        return Mixture.of(parts, tokenizer, own).at(epoch)

    return windowed(directions, config, select)


def windowed(
    directions: Sequence[Direction], config: RunConfig, select: Select
) -> WindowedExamples:
    """Return the pairs of some directions in windows. select: see `WindowedExamples`."""
    quotas = quotas_of(directions, config.data.temperature)
    size, seed = config.data.shuffle_window, config.train.seed
    return WindowedExamples(tuple(directions), tuple(quotas.tolist()), size, seed, select)


def numbers_of(pieces: Sequence[PairRange]) -> np.ndarray:
    """Return the numbers of the pairs of some pieces, (n,)."""
    return np.concatenate([np.arange(start, stop) for _, start, stop in pieces])
