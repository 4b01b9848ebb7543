"""Tags of a line in its outputs, placed by the attention at each output token."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from attncli.faithful.plan import Plan
from attncli.faithful.result import TranslatedLine
from attncli.faithful.spans import TokenWeights, WordWeights, is_mark, shifted, word_weights, words
from models.core.annexes import need_part
from models.core.types import EMPTY, Translation

if TYPE_CHECKING:
    from models.engines.translator import Translator


AlignTranslations = Callable[[list[Translation]], list[TokenWeights]]  # of the best output of each


def with_tags(
    results: Sequence[TranslatedLine], plans: Sequence[Plan], align: AlignTranslations
) -> list[TranslatedLine]:
    """Return the results with the tags of their lines in all outputs.

    plans: by which they were translated. Only lines with tags inside are aligned, all at once. A
    line without words is returned unchanged.
    """
    each = [*zip(results, plans, strict=True)]
    tagged = (one.parts for one, plan in each if plan.tagged and plan.tagged.has_inner)
    flat = [part for parts in tagged for rank in by_rank(parts) for part in rank]
    found = iter(align(flat) if flat else [])
    return [
        dataclasses.replace(one, translation=_carried(plan, one, found))
        if plan.tagged and one.translation
        else one
        for one, plan in each
    ]


def by_rank(parts: Sequence[Translation]) -> list[tuple[Translation, ...]]:
    """Return the parts with one output each: the best ones, the second ones, and so on."""
    ranks = zip(*(part.hypotheses for part in parts), strict=False)
    return [
        tuple(part._replace(hypotheses=(one,)) for part, one in zip(parts, rank, strict=True))
        for rank in ranks
    ]


def token_weights(translator: Translator, translations: list[Translation]) -> list[TokenWeights]:
    """Return the weights between the tokens of each best output and its source, else a diagonal."""
    from models.alignment import align_translations
    from models.alignment.weights import both_units, encoded_translation

    if not translator.read_mode:
        return [_in_order(one.source, one.text) for one in translations]
    config = dataclasses.replace(translator.alignment, units="piece")
    aligned = align_translations(translator, translations, config=config, scored=False)
    weights = []
    for one, found in zip(translations, aligned, strict=True):
        pair = encoded_translation(translator, one)
        source, target = both_units(translator.tokenizer, pair, config)
        weights.append(TokenWeights(source.spans, target.spans, found.weights.tolist()))
    return weights


def _in_order(source: str, target: str) -> TokenWeights:
    from models.alignment import diagonal

    spans, target_spans = words(source), words(target)
    rows = [[0.0] * len(spans) for _ in target_spans]
    for i, j in diagonal(len(spans), len(target_spans)):
        rows[j][i] = 1.0
    return TokenWeights(spans, target_spans, rows)


def _carried(plan: Plan, result: TranslatedLine, found: Iterator[TokenWeights]) -> Translation:
    """Return the translation of a line with its tags."""
    assert plan.tagged and result.translation
    tagged, translation = plan.tagged, result.translation
    if not result.parts:
        return Translation(translation.source, (EMPTY._replace(text=tagged.line),))
    write_tags = need_part("tags", "writer", "a line with tags").project_tags
    source_words = words(tagged.text)
    hypotheses = []
    for rank, whole in enumerate(translation.hypotheses):
        weights = [next(found) for _ in result.parts] if tagged.has_inner else []
        placed = _placed(plan, result, rank, weights)
        of_words = word_weights(placed, source_words, words(whole.text))
        of_words = _with_marks(of_words, tagged.text, whole.text)
        hypotheses.append(whole._replace(text=write_tags(tagged, whole.text, of_words)))
    return Translation(translation.source, tuple(hypotheses))


def _with_marks(weights: WordWeights, source: str, target: str) -> WordWeights:
    """Return weights by which a mark is aligned with the same mark of the source."""
    own = {source[start]: n for n, (start, _) in enumerate(words(source)) if is_mark(source[start])}
    spans = zip(weights, words(target), strict=True)
    return [
        {own[target[start]]: 1.0} if not row and target[start] in own else row
        for row, (start, _) in spans
    ]


def _placed(
    plan: Plan, result: TranslatedLine, rank: int, weights: Sequence[TokenWeights]
) -> list[TokenWeights]:
    """Return the weights of each part, by the characters of the source and the translation.

    What is between the parts is the same in both.
    """
    if not (weights and plan.tagged):
        return []
    placed = list[TokenWeights]()
    source, target = plan.tagged.text, result.hypotheses[rank].text
    outputs, places, end, target_end = [*plan.outputs(result.parts)][rank], plan.places, 0, 0
    for number, (spans, target_spans, rows) in enumerate(weights):
        start = places[number][0]
        target_start = max(target_end, target.find(outputs[number], target_end))
        placed += _same(source[end:start], target[target_end:target_start], end, target_end)
        written = result.parts[number].hypotheses[rank].text
        spans = shifted(spans, plan.edits(number))
        target_spans = shifted(target_spans, plan.marked(number, written)[1])
        placed.append(TokenWeights(spans, target_spans, rows).moved(start, target_start))
        end, target_end = places[number][1], target_start + len(outputs[number])
    return [*placed, *_same(source[end:], target[target_end:], end, target_end)]


def _same(source: str, target: str, start: int, target_start: int) -> Iterator[TokenWeights]:
    """Yield weights by which each word between two parts is aligned with itself."""
    for own, found in zip(words(source), words(target), strict=False):
        if source[slice(*own)] == target[slice(*found)]:
            yield TokenWeights([own], [found], [[1.0]]).moved(start, target_start)
