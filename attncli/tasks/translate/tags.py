"""Translation of lines with tags: connects ``attncli.tags`` with a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from attncli.tags import PartWeights, TaggedLine, TokenWeights, project_tags, word_weights, words
from models.base.types import EMPTY, Translation
from models.text.tokenizer import END

if TYPE_CHECKING:
    from models.inference.translator import Translator

AlignTranslations = Callable[[list[Translation]], list[TokenWeights]]  # of the best output of each


class InParts(NamedTuple):
    """A line whose text was translated in one or more parts."""

    tagged: TaggedLine
    parts: Sequence[Translation]
    joined: Translation  # of all parts


def with_tags(lines: Sequence[InParts], align: AlignTranslations) -> Iterator[Translation]:
    """Yield the translation of each line with the tags of the line in all outputs.

    Only lines with tags are aligned, all at once. A line without words is returned unchanged.
    """
    tagged = (line.parts for line in lines if line.tagged.tags)
    asked = [part for parts in tagged for rank in by_rank(parts) for part in rank]
    found = iter(align(asked) if asked else [])
    for line in lines:
        yield _carried(line, found if line.tagged.tags else None)


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
    aligned = align_translations(translator, translations, config=config)
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


def _carried(line: InParts, found: Iterator[TokenWeights] | None) -> Translation:
    tagged, source = line.tagged, line.joined.source
    if not line.parts:
        return Translation(source, (EMPTY._replace(text=tagged.line),))
    source_words = words(tagged.text)
    hypotheses = []
    for rank, whole in zip(by_rank(line.parts), line.joined.hypotheses, strict=True):
        parts = _placed(line, rank, found) if found else []
        weights = word_weights(parts, source_words, words(whole.text))
        hypotheses.append(whole._replace(text=project_tags(tagged, whole.text, weights)))
    return Translation(source, tuple(hypotheses))


def _placed(
    line: InParts, rank: Sequence[Translation], found: Iterator[TokenWeights]
) -> list[PartWeights]:
    """Return the weights of each part, with its start in the source and in the translation."""
    placed = []
    start = target_start = 0
    for part in rank:
        start = line.tagged.text.index(part.source, start)
        placed.append(PartWeights(start, target_start, next(found)))
        start += len(part.source)
        target_start += len(part.text) + bool(part.text)  # and a space
    return placed
