"""Translation of lines with tags: connects ``attncli.tags`` with a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from attncli.data.lines import TranslatedLine
from attncli.tags.parse import TaggedLine
from attncli.tags.project import project_tags
from attncli.tags.spans import PartWeights, TokenWeights, word_weights
from attncli.tags.words import words
from models.base.types import EMPTY, Translation
from models.text.tokenizer import END

if TYPE_CHECKING:
    from models.inference.translator import Translator

AlignTranslations = Callable[[list[Translation]], list[TokenWeights]]  # of the best output of each


def with_tags(
    outcomes: Sequence[TranslatedLine],
    lines: Sequence[TaggedLine | None],
    align: AlignTranslations,
) -> list[TranslatedLine]:
    """Return the outcomes with the tags of their lines in all outputs.

    lines: the tags of each line; None: the line has no translation, or is its own output. Only
    lines with tags are aligned, all at once. A line without words is returned unchanged.
    """
    aligned = (one.parts for one, line in zip(outcomes, lines, strict=True) if line and line.tags)
    flat = [part for parts in aligned for rank in by_rank(parts) for part in rank]
    found = iter(align(flat) if flat else [])
    return [
        one._replace(translation=_carried(line, one.parts, one.translation, found))
        if line and one.translation
        else one
        for one, line in zip(outcomes, lines, strict=True)
    ]


def by_rank(parts: Sequence[Translation]) -> list[tuple[Translation, ...]]:
    """Return the parts with one output each: the best ones, the second ones, and so on."""
    ranks = zip(*(part.hypotheses for part in parts), strict=False)
    return [
        tuple(part._replace(hypotheses=(one,)) for part, one in zip(parts, rank, strict=True))
        for rank in ranks
    ]


def token_weights(translator: Translator, translations: list[Translation]) -> list[TokenWeights]:
    """Return the attention weights between the tokens of each best output and of its source.

    For a model without attention, use the diagonal between the words.
    """
    from models.alignment import align_translations
    from models.text.units import units

    if not translator.read_mode:
        return [_in_order(text, best.text) for text, (best, *_), _ in translations]
    config = dataclasses.replace(translator.alignment, units="piece")
    aligned = align_translations(translator, translations, config=config, scored=False)
    tokenizer = translator.tokenizer
    weights = []
    for (text, (best, *_), to), found in zip(translations, aligned, strict=True):
        ids = translator.encode(text, to)
        source = units(tokenizer.source, ids, text, kind="piece", marks=True)
        said = [*best.ids, END]
        target = units(tokenizer.target, said, best.text, kind="piece", marks=True)
        weights.append(TokenWeights(source.spans, target.spans, found.weights.tolist()))
    return weights


def _in_order(source: str, target: str) -> TokenWeights:
    from models.alignment import diagonal

    spans, target_spans = words(source), words(target)
    rows = [[0.0] * len(spans) for _ in target_spans]
    for i, j in diagonal(len(spans), len(target_spans)):
        rows[j][i] = 1.0
    return TokenWeights(spans, target_spans, rows)


def _carried(
    tagged: TaggedLine,
    parts: Sequence[Translation],
    joined: Translation,
    found: Iterator[TokenWeights],
) -> Translation:
    """Return the joined translation of the parts of a line, with its tags."""
    if not parts:
        return Translation(joined.source, (EMPTY._replace(text=tagged.line),))
    source_words = words(tagged.text)
    hypotheses = []
    for rank, whole in zip(by_rank(parts), joined.hypotheses, strict=True):
        placed = _placed(tagged.text, rank, found) if tagged.tags else []
        weights = word_weights(placed, source_words, words(whole.text))
        hypotheses.append(whole._replace(text=project_tags(tagged, whole.text, weights)))
    return Translation(joined.source, tuple(hypotheses))


def _placed(
    text: str, rank: Sequence[Translation], found: Iterator[TokenWeights]
) -> list[PartWeights]:
    """Return the weights of each part, with its start in the source and in the translation."""
    placed = []
    start = target_start = 0
    for part in rank:
        start = text.index(part.source, start)
        placed.append(PartWeights(start, target_start, next(found)))
        start += len(part.source)
        target_start += len(part.text) + bool(part.text)  # and a space
    return placed
