"""Translation of chunks of lines, one outcome per line, in order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from attncli.data.lines import Line, TranslatedLine
from attncli.tags.protect import restore
from attncli.tags.stand_ins import MarkedTranslation
from attncli.tasks.translate.engine import TranslateOptions
from attncli.tasks.translate.faithful import (
    Faithful,
    Fitting,
    MarkedText,
    Translating,
    fitted,
    joined,
    translate_faithfully,
)
from attncli.tasks.translate.line_plans import LinePlan, plan_line
from models.base.types import EMPTY, Hypothesis, Translation
from models.use_config import SearchConfig

if TYPE_CHECKING:
    from attncli.tasks.translate.alignment import AlignTranslations
    from models.inference.text_translator import TextTranslator

DOTS = re.compile(r"\.{3,}|…")


def translate_lines(
    chunks: Iterable[list[Line]],
    translator: TextTranslator,
    *,
    options: TranslateOptions,
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
        texts = [
            MarkedText(part, plan.protected, source)
            for plan, source in zip(plans, sources, strict=True)
            for part in plan.parts
        ]
        model = _model(translator, options, on_batch, len(texts))
        again = not options.verbatim and translator.prepare.parts
        results = iter(translate_faithfully(texts, model, again=again))
        outcomes = [
            _outcome(plan, [next(results) for _ in plan.parts], translator, options)
            for plan in plans
        ]
        if aligner:
            from attncli.tasks.translate.alignment import with_tags

            outcomes = with_tags(outcomes, [plan.tagged for plan in plans], aligner)
        yield [_restored(*each) for each in zip(outcomes, plans, strict=True)]


def _model(
    translator: TextTranslator,
    options: TranslateOptions,
    on_batch: Callable[[int, int], None],
    total: int,
) -> Translating:
    """Return the model as the attempts need it; only its first call reports its batches."""
    report = [lambda done: on_batch(done, total)]

    def run(
        texts: list[str], starts: list[str], search: SearchConfig | None
    ) -> Iterator[Translation]:
        return translator.stream(
            texts,
            source=starts if any(starts) else "",
            search=search,
            max_batch_tokens=options.compute.batch_tokens,
            window=max(1, len(texts)),
            on_batch=report.pop() if report else lambda done: None,
        )

    unknown, to = translator.unknown_characters, translator.to
    return Translating(run, translator.search, unknown, to, options.limited)


def _outcome(
    plan: LinePlan, results: list[Faithful], translator: TextTranslator, options: TranslateOptions
) -> TranslatedLine:
    """Return the outcome of a line; the protected parts are still marks."""
    if plan.refused:
        return TranslatedLine(plan.line, None, plan.note)
    if plan.copied:
        text = _in_form(plan, plan.fixed) if plan.fixed else plan.line.text
        copied = Translation(plan.line.text, (EMPTY._replace(text=text),))
        found = TranslatedLine(plan.line, copied, plan.note)
        return found._replace(foreign=plan.foreign, in_target=plan.in_target)
    marked = tuple(piece for result in results for piece in result.pieces)
    parts = tuple(piece.translation for piece in marked)
    gaps = [*_gaps(plan, results)]
    forms = [marked]
    if not options.verbatim:
        language = plan.language or translator.source_language
        capitals = language not in ("", "de")  # where not every noun has one
        form = Fitting(translator.prepare.ends, capitals, translator.is_small)
        marked = fitted(gaps, marked, form)
        forms = [marked, *forms]
    joined = _joined(plan, gaps, forms)
    best = joined.hypotheses[0].text
    unknown = translator.unknown_characters("".join(part.source for part in parts))
    lost = "".join(character for character in unknown if character not in best)
    checks = tuple(check for result in results for check in result.checks)
    checks = () if translator.inputs else checks  # a row is not text
    if not translator.prepare.parts:  # the pairs that it was trained on fail these
        checks = tuple(check for check in checks if check.name not in ("digits", "negation"))
    return TranslatedLine(
        plan.line, joined, plan.note, parts, lost=lost, checks=checks, marked=marked
    )


def _gaps(plan: LinePlan, results: Sequence[Faithful]) -> Iterator[str]:
    """Yield what is before each piece of a line, and after the last."""
    gap = plan.gaps[0]
    for result, after in zip(results, plan.gaps[1:], strict=bool(results)):
        first, *others = result.gaps
        gap += first
        for other in others:
            yield gap
            gap = other
        gap += after
    yield gap


def _restored(outcome: TranslatedLine, plan: LinePlan) -> TranslatedLine:
    """Return the outcome with the protected parts in place of their marks."""
    if not plan.protected or not outcome.translation or plan.copied:
        return outcome
    hypotheses = tuple(
        one._replace(text=restore(one.text, plan.protected))
        for one in outcome.translation.hypotheses
    )
    return outcome._replace(translation=outcome.translation._replace(hypotheses=hypotheses))


def _in_form(plan: LinePlan, text: str) -> str:
    """Return an output with the dots, the end and the key of its line."""
    line = plan.line.text
    text = text if line[-1:].isspace() else text.rstrip()
    if "…" in line or "..." in line:
        text = DOTS.sub("..." if "..." in line else "…", text)
    if plan.key:
        text = re.sub(r"(?=[^\W\d_])", plan.key, text, count=1)
    return text


def _joined(
    plan: LinePlan, gaps: Sequence[str], forms: Sequence[Sequence[MarkedTranslation]]
) -> Translation:
    """Join the translations of parts: the best of each, the second best of each, and so on.

    forms: the parts as they are written; further ones serve where two outputs would be the same.
    """
    if not forms[0]:
        return Translation(plan.line.text, (EMPTY._replace(text="".join(gaps)),))
    case = str.upper if plan.capitals else str
    ranks = zip(*(part.translation.hypotheses for part in forms[0]), strict=False)
    hypotheses: list[Hypothesis] = []
    texts, spare = set[str](), list[str]()
    for rank, hypothesis in enumerate(ranks):
        each = ([case(part.outputs[rank]) for part in parts] for parts in forms)
        text, *others = (_in_form(plan, joined(gaps, outputs)) for outputs in each)
        spare += others
        text = next((one for one in (text, *spare[::-1]) if one not in texts), text)
        texts.add(text)
        hypotheses.append(_concatenated(hypothesis)._replace(text=text))
    return Translation(plan.line.text, tuple(hypotheses))


def _concatenated(parts: tuple[Hypothesis, ...]) -> Hypothesis:
    """Join outputs; add up their log-probabilities, average their scores."""
    if len(parts) == 1:
        return parts[0]
    return Hypothesis(
        text=" ".join(part.text for part in parts if part.text),
        score=sum(part.score for part in parts) / len(parts),
        log_prob=sum(part.log_prob for part in parts),
        tokens=tuple(token for part in parts for token in part.tokens),
        ids=tuple(id for part in parts for id in part.ids),
        truncated=any(part.truncated for part in parts),
    )
