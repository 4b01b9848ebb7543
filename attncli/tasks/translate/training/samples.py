"""Samples of text models: translations of a few texts, and a heat map of one of them."""

from __future__ import annotations

from collections.abc import Sequence

from attncli.data.training_samples import ShownExample
from attncli.training.sources.heat_map import heat_map
from models.alignment import align_translations
from models.base.types import Translation
from models.inference.translator import Translator


def text_samples(
    translator: Translator, pairs: Sequence[tuple[str, str]], to: str
) -> list[ShownExample]:
    """Return a sample for each pair of source and reference. to: target language, or ""."""
    results = translator.translate([source for source, _ in pairs], to=to)
    samples = [
        ShownExample(source, reference, result.text)
        for (source, reference), result in zip(pairs, results, strict=True)
    ]
    if translator.model.decoder.attends and samples:
        samples[0] = samples[0]._replace(attention=alignment_map(translator, results[0]))
    return samples


def alignment_map(translator: Translator, translation: Translation) -> str:
    """Return the heat map of a translation; "" if it has no words, or too many."""
    [found] = align_translations(translator, [translation])
    if found.note:
        return ""
    return heat_map(found.source, found.target, found.weights.float().cpu().numpy(), found.links)
