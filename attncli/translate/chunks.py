"""Translation of chunks of lines, one result per line, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from attncli.faithful.pieces import LINE_END
from attncli.faithful.plan import Plan
from attncli.faithful.result import Line, TranslatedLine
from attncli.faithful.steer import begun, divided_steering, steered
from attncli.translate._alignment import AlignTranslations, with_tags
from attncli.translate.engine import TranslateOptions
from models.core.types import EMPTY, Hypothesis, Translation
from models.search.steering import PLAIN

if TYPE_CHECKING:
    from models.engines.text_translator import TextTranslator


def translate_lines(
    chunks: Iterable[Sequence[Line]],
    translator: TextTranslator,
    *,
    options: TranslateOptions,
    aligner: AlignTranslations | None = None,
    languages: Callable[[Sequence[Line]], list[str]] | None = None,
    on_batch: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[list[TranslatedLine]]:
    """Translate chunks of lines; yield the results of each chunk as soon as it is done.

    A line whose result fails a check is translated once more, by another plan, and the better
    result stays. With an aligner, lines are text with tags, which are projected into all outputs.
    An empty line has an empty translation, and the model is not called. A faulty line, or one that
    is too long and refused, has no translation. languages: returns the language of each line of a
    chunk, "" if it is unknown; a line in the target language passes unchanged. A line of unknown
    language that is surely in one without a trained direction is read as that. on_batch: called
    after each batch with the number of texts of the chunk that are done, and of all its texts.
    """
    reading = options.plan
    for chunk in chunks:
        sources = languages(chunk) if languages else [""] * len(chunk)
        plans = [
            steered(Plan.of(line, translator, reading, language=start, tags=bool(aligner)))
            for line, source in zip(chunk, sources, strict=True)
            for start in [source or _recognised(line, translator, options)]
        ]
        results = _results(plans, translator, options, on_batch)
        again = {
            number: further
            for number, (plan, result) in enumerate(zip(plans, results, strict=True))
            if (further := plan.again(result))
        }
        others = _results([*again.values()], translator, options, lambda done, total: None)
        for number, other in zip(again, others, strict=True):
            if len(other.checks) < len(results[number].checks):
                plans[number], results[number] = again[number], other
        if aligner:
            results = with_tags(results, plans, aligner)
        yield [begun(plan, plan.restored(one)) for plan, one in zip(plans, results, strict=True)]


def _recognised(line: Line, translator: TextTranslator, options: TranslateOptions) -> str:
    """Return the language of a line that is not steered, if it surely has no trained direction."""
    is_plain = not (options.verbatim or line.prefix or line.looks)
    return translator.untrained_source(line.text) if is_plain else ""


def _results(
    plans: Sequence[Plan],
    translator: TextTranslator,
    options: TranslateOptions,
    on_batch: Callable[[int, int], None],
) -> list[TranslatedLine]:
    """Return the result of each plan."""
    texts = [text for plan in plans for text in plan.texts]
    starts = [plan.language for plan in plans for _ in plan.pieces]
    translations = translator.stream(
        texts,
        source=starts if any(starts) else "",
        max_batch_tokens=options.compute.batch_tokens,
        window=max(1, len(texts)),
        on_batch=lambda done: on_batch(done, len(texts)),
        steering=[one for plan in plans for one in plan.steering or [PLAIN] * len(plan.pieces)],
    )
    return [plan.result([next(translations) for _ in plan.pieces]) for plan in plans]


def by_line(
    chunks: Iterable[Sequence[Line]],
    translate: Callable[[Iterable[list[Line]]], Iterator[list[TranslatedLine]]],
) -> Iterator[list[TranslatedLine]]:
    """Translate chunks of texts that may have line ends inside; yield the outcome of each text.

    Each line is translated as a text of its own, and the line ends stay.
    """
    texts: list[Sequence[Line]] = []

    def divided() -> Iterator[list[Line]]:
        for chunk in chunks:
            texts.append(chunk)
            yield [
                part for line in chunk for part in divided_steering(line, LINE_END.split(line.text))
            ]

    for outcomes in translate(divided()):
        rest = iter(outcomes)
        yield [
            joined(line, ends, [next(rest) for _ in range(len(ends) + 1)])
            for line in texts.pop(0)
            for ends in [LINE_END.findall(line.text)]
        ]


def joined(line: Line, ends: Sequence[str], outcomes: Sequence[TranslatedLine]) -> TranslatedLine:
    """Return the outcome of a text from those of its lines, and the line ends between them."""
    if not ends:
        return outcomes[0]
    notes = "; ".join(dict.fromkeys(one.note for one in outcomes if one.note))
    found = [one.translation for one in outcomes if one.translation]
    if len(found) < len(outcomes):
        return TranslatedLine(line, None, notes)
    most = max(len(one.hypotheses) for one in found)
    hypotheses = tuple(
        _hypothesis([one.hypotheses[min(rank, len(one.hypotheses) - 1)] for one in found], ends)
        for rank in range(most)
    )
    return TranslatedLine(
        line,
        Translation(line.text, hypotheses),
        notes,
        tuple(part for one in outcomes for part in one.parts),
        checks=tuple(check for one in outcomes for check in one.checks),
        stand_ins=tuple(own for one in outcomes for own in one.stand_ins),
        lost="".join(dict.fromkeys("".join(one.lost for one in outcomes))),
        foreign=all(one.foreign for one in outcomes if one.line.text.strip()),
        in_target=all(one.in_target for one in outcomes if one.line.text.strip()),
        memory=min((one.memory for one in outcomes if one.line.text.strip()), default=""),
    )


def _hypothesis(lines: Sequence[Hypothesis], ends: Sequence[str]) -> Hypothesis:
    """Join the outputs of lines; add up their log-probabilities, average their scores."""
    scores = [one.score for one in lines if one.ids]
    return EMPTY._replace(
        text="".join(one.text + end for one, end in zip(lines, [*ends, ""], strict=True)),
        score=sum(scores) / max(1, len(scores)),
        log_prob=sum(one.log_prob for one in lines),
        tokens=tuple(token for one in lines for token in one.tokens),
        ids=tuple(id for one in lines for id in one.ids),
        truncated=any(one.truncated for one in lines),
    )
