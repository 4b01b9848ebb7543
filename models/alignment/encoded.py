"""Sentence pairs as token ids, their batches and their units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from models.base.errors import ConfigurationError
from models.base.types import Batch, Translation
from models.config import AlignConfig
from models.inference.search.batching import length_batches, pad_pairs
from models.inference.translator import Translator
from models.text.normalise import composed, with_single_spaces, with_straight_apostrophes
from models.text.prepare import with_apostrophes
from models.text.tokenizer import END, Tokenizer
from models.text.units import Units, units

ALL_HEADS = 4  # divisor of the batch size where the weights of all layers and heads are stored


class Encoded(NamedTuple):
    """A sentence pair as text and as token ids."""

    source: list[int]
    target: list[int]
    source_text: str
    target_text: str


def encode(translator: Translator, source: str, target: str) -> Encoded:
    """Return a pair of texts with the ids that the model takes, target-language token included.

    The source is prepared as `attn translate` prepares it; the target has straight apostrophes
    where the model needs fewer tokens for them. The returned texts have single spaces and composed
    accents too, but the apostrophes of the given ones. Their words, as `str.split` divides them,
    keep their numbers.
    """
    if translator.inputs:
        raise ConfigurationError(
            f"pairs of texts for a model of several inputs ({', '.join(translator.inputs)})",
            "a model of one text",
            "`attn translate --align` aligns the outputs of this model",
        )
    tokenizer = translator.tokenizer
    source = composed(with_single_spaces(source), translator.source_length)
    target = composed(with_single_spaces(target), lambda text: len(tokenizer.encode_target(text)))
    source_ids = translator.encode(with_apostrophes(source, translator.prepare))
    written = [target, with_straight_apostrophes(target)]
    target_ids = min(map(tokenizer.encode_target, written), key=len)
    return Encoded(source_ids, target_ids, source, target)


def encoded_translation(translator: Translator, translation: Translation) -> Encoded:
    """Return the best output of a translation and its source, as the model read and wrote them."""
    return Encoded(
        translator.encode(translation.source, translation.to),
        [*translation.hypotheses[0].ids, END],
        translation.source,
        translation.text,
    )


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
    images = translator.images([pair.source_text for pair in pairs])
    return pad_pairs(sources, targets, translator.device)._replace(images=images)


def both_units(tokenizer: Tokenizer, pair: Encoded, config: AlignConfig) -> tuple[Units, Units]:
    """Return the units of a pair's source and of its target."""
    of = partial(units, kind=config.units, marks=config.marks)
    return (
        of(tokenizer.source, pair.source, pair.source_text),
        of(tokenizer.target, pair.target, pair.target_text),
    )


def why_unaligned(translator: Translator, pair: Encoded) -> str:
    """Return the reason why a pair cannot be aligned; empty if it can."""
    if not (pair.source_text.strip() and pair.target_text.strip()):
        return "an empty side"
    if len(pair.source) > translator.max_source_length:
        return f"{len(pair.source)} source tokens, at most {translator.max_source_length} allowed"
    return ""
