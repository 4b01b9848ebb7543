"""Translation of chunks of lines, one outcome per line, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from attncli.data.lines import Line, TranslatedLine
from attncli.tasks.translate.line_plans import LineOptions, LinePlan, plan_line
from models.base.types import EMPTY, Hypothesis, Translation
from models.config import MAX_BATCH_TOKENS
from models.text.normalise import without_added_stop

if TYPE_CHECKING:
    from attncli.tasks.translate.tags import AlignTranslations
    from models.inference.text_translator import TextTranslator


def translate_lines(
    chunks: Iterable[list[Line]],
    translator: TextTranslator,
    *,
    options: LineOptions,
    max_batch_tokens: int = MAX_BATCH_TOKENS,
    aligner: AlignTranslations | None = None,
    languages: Callable[[list[Line]], list[str]] | None = None,
    on_batch: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[list[TranslatedLine]]:
    """Translate chunks of lines; yield the outcomes of each chunk as soon as it is done.

    With an aligner, lines are text with tags, which are projected into all outputs. An empty line
    has an empty translation, and the model is not called. A faulty line, or one that is too long
    and refused, has no translation. languages: returns the language of each line of a chunk, ""
    if it is unknown; a line in the target language passes unchanged. on_batch: called after each
    batch with the number of texts of the chunk that are done, and of all its texts.
    """
    for chunk in chunks:
        sources = languages(chunk) if languages else [""] * len(chunk)
        plans = [
            plan_line(line, translator, options, language=source, tags=bool(aligner))
            for line, source in zip(chunk, sources, strict=True)
        ]
        texts = [part for plan in plans for part in plan.parts]
        starts = [each for each, plan in zip(sources, plans, strict=True) for _ in plan.parts]
        results = translator.stream(
            texts,
            source=starts if languages else "",
            max_batch_tokens=max_batch_tokens,
            window=max(1, len(texts)),
            on_batch=partial(_report, on_batch, len(texts)),
        )
        outcomes = [
            _outcome(plan, [next(results) for _ in plan.parts], translator, options)
            for plan in plans
        ]
        yield _with_tags(plans, outcomes, aligner) if aligner else outcomes


def _report(on_batch: Callable[[int, int], None], total: int, done: int) -> None:
    on_batch(done, total)


def _outcome(
    plan: LinePlan, results: list[Translation], translator: TextTranslator, options: LineOptions
) -> TranslatedLine:
    if plan.refused:
        return TranslatedLine(plan.line, None, plan.note)
    if plan.copied:
        copied = Translation(plan.line.text, (EMPTY._replace(text=plan.line.text),))
        return TranslatedLine(plan.line, copied, plan.note, foreign=plan.foreign)
    joined = _joined(plan.line.text, results)
    same_end = options.everyday and translator.prepare.ends
    hypotheses = tuple(_in_form(plan, one, same_end) for one in joined.hypotheses)
    joined = joined._replace(hypotheses=hypotheses)
    best = joined.hypotheses[0].text
    unknown = translator.unknown_characters("".join(plan.parts))
    lost = "".join(character for character in unknown if character not in best)
    return TranslatedLine(plan.line, joined, plan.note, tuple(results), lost=lost)


def _in_form(plan: LinePlan, hypothesis: Hypothesis, same_end: bool) -> Hypothesis:
    """Return the output with the capitals, the end and the outer white space of its line."""
    text = hypothesis.text.upper() if plan.capitals else hypothesis.text
    if same_end:
        text = without_added_stop(text, plan.tagged.text if plan.tagged else plan.line.text)
    return hypothesis._replace(text=f"{plan.before}{text}{plan.after}")


def _with_tags(
    plans: list[LinePlan], outcomes: list[TranslatedLine], aligner: AlignTranslations
) -> list[TranslatedLine]:
    from attncli.tasks.translate.tags import with_tags

    return with_tags(outcomes, [plan.tagged for plan in plans], aligner)


def _joined(source: str, parts: list[Translation]) -> Translation:
    """Join the translations of parts: the best of each, the second best of each, and so on."""
    if not parts:
        return Translation(source, (EMPTY,))
    if len(parts) == 1:
        return Translation(source, parts[0].hypotheses)
    ranks = zip(*(part.hypotheses for part in parts), strict=False)
    return Translation(source, tuple(_concatenated(rank) for rank in ranks))


def _concatenated(parts: tuple[Hypothesis, ...]) -> Hypothesis:
    """Join outputs with spaces; add up their log-probabilities, average their scores."""
    return Hypothesis(
        text=" ".join(part.text for part in parts if part.text),
        score=sum(part.score for part in parts) / len(parts),
        log_prob=sum(part.log_prob for part in parts),
        tokens=tuple(token for part in parts for token in part.tokens),
        ids=tuple(id for part in parts for id in part.ids),
        truncated=any(part.truncated for part in parts),
    )
