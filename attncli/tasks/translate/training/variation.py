"""The settings that vary training examples."""

from __future__ import annotations

from attncli.data.text.mixture import Variation
from attncli.training.sources.preparation import Preparation


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
