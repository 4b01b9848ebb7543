"""Sentence pairs as token ids, their batches and their units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from torch import Tensor

from models.alignment.units import Units, units
from models.config import AlignConfig
from models.inference.batching import length_batches, pad_pairs
from models.inference.normalise import composed
from models.inference.translator import Translator
from models.tokenizer import Tokenizer
from models.types import Batch

ALL_HEADS = 4  # divisor of the batch size where the weights of all layers and heads are stored


class Encoded(NamedTuple):
    """A sentence pair as text and as token ids."""

    source: list[int]
    target: list[int]
    source_text: str
    target_text: str


def encode(translator: Translator, source: str, target: str) -> Encoded:
    """Return a pair of texts with the ids that the model takes, target-language token included.

    Decomposed accents are composed if the model knows them better so.
    """
    tokenizer = translator.tokenizer
    source = composed(source, translator.source_length)
    target = composed(target, lambda text: len(tokenizer.encode_target(text)))
    return Encoded(translator.encode(source), tokenizer.encode_target(target), source, target)


def batched(
    translator: Translator, pairs: Sequence[Encoded], max_batch_tokens: int
) -> Iterable[list[int]]:
    """Return batches of the indices of pairs that can be aligned, grouped by length."""
    lengths = [
        0 if why_unaligned(translator, pair) else max(len(pair.source), len(pair.target))
        for pair in pairs
    ]
    return length_batches(lengths, max_tokens=max_batch_tokens)


def as_batch(translator: Translator, pairs: Sequence[Encoded]) -> Batch:
    """Return encoded pairs as a padded batch."""
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    return pad_pairs(sources, targets, translator.device)


def both_units(tokenizer: Tokenizer, pair: Encoded, config: AlignConfig) -> tuple[Units, Units]:
    """Return the units of a pair's source and of its target."""
    kind, marks = config.units, config.marks
    return (
        units(tokenizer.source, pair.source, pair.source_text, kind=kind, marks=marks),
        units(tokenizer.target, pair.target, pair.target_text, kind=kind, marks=marks),
    )


def real(rows: Tensor, source: Units, target: Units) -> Tensor:
    """Return one pair's weights (.., T, S) from a padded batch, without its padding."""
    return rows[..., : len(target.shares), : len(source.shares)]


def why_unaligned(translator: Translator, pair: Encoded) -> str:
    """Return the reason why a pair cannot be aligned; empty if it can."""
    if not (pair.source_text.strip() and pair.target_text.strip()):
        return "an empty side"
    if len(pair.source) > translator.max_source_length:
        return f"{len(pair.source)} source tokens, at most {translator.max_source_length} allowed"
    return ""
