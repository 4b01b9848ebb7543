"""Translate chunks of lines: one outcome for each line, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, Protocol

from attncli.data.lines import Line, Outcome
from attncli.data.split import split
from attncli.jobs.tags import Aligner, InParts, with_tags
from attncli.tags import TaggedLine, parse
from attncli.tags.scan import too_many_tags
from attncli.tags.words import has_word
from models.config import MAX_BATCH_TOKENS, SearchConfig
from models.limits import LINE_TAGS
from models.types import EMPTY, Hypothesis, Translation

LongLines = Literal["split", "refuse"]


class Translates(Protocol):
    """Model as this job uses it; ``models.load_translator`` returns one."""

    @property
    def max_source_length(self) -> int:
        """Maximum length of a text in tokens, end mark included."""

    def source_length(self, text: str) -> int:
        """Return the length of a text in tokens, end mark included."""

    def stream(
        self,
        texts: Iterable[str],
        *,
        search: SearchConfig | None = None,
        max_batch_tokens: int = MAX_BATCH_TOKENS,
        window: int = 2000,
        on_batch: Callable[[int], None] = lambda done: None,
    ) -> Iterator[Translation]:
        """Yield the translation of each text, in order."""


class _Plan(NamedTuple):
    """The texts to translate for a line: none for an empty one, more than one if it is split."""

    line: Line
    parts: list[str]
    note: str = ""
    refused: bool = False
    tagged: TaggedLine | None = None  # where markup is carried: what there was in the line


def translate_lines(
    chunks: Iterable[list[Line]],
    translator: Translates,
    *,
    search: SearchConfig,
    long_lines: LongLines = "split",
    max_batch_tokens: int = MAX_BATCH_TOKENS,
    aligner: Aligner | None = None,
    on_batch: Callable[[int], None] = lambda done: None,
) -> Iterator[list[Outcome]]:
    """The outcomes of each chunk, as soon as the chunk is there.

    With an aligner, lines are text with markup, which is carried into all outputs.

    A line that is empty or all spaces has the empty translation and the model is not called; one
    that is faulty, or too long and ``long_lines`` is "refuse", has none.
    """
    for chunk in chunks:
        plans = [_plan(line, translator, long_lines, tags=bool(aligner)) for line in chunk]
        texts = [part for plan in plans for part in plan.parts]
        results = translator.stream(
            texts,
            search=search,
            max_batch_tokens=max_batch_tokens,
            window=max(1, len(texts)),
            on_batch=on_batch,
        )
        parts = [[next(results) for _ in plan.parts] for plan in plans]
        outcomes = [_outcome(plan, part) for plan, part in zip(plans, parts, strict=True)]
        yield _with_tags(plans, parts, outcomes, aligner) if aligner else outcomes


def _plan(line: Line, translator: Translates, long_lines: LongLines, *, tags: bool) -> _Plan:
    if line.fault:
        return _Plan(line, [], f"line {line.number} is {line.fault}; not translated", refused=True)
    if not line.text.strip():
        return _Plan(line, [])
    if tags and too_many_tags(line.text):
        note = f"line {line.number} has more than {LINE_TAGS:,} tags; not translated"
        return _Plan(line, [], note, refused=True)
    tagged = parse(line.text) if tags else None
    if tagged and tagged.tags and not has_word(tagged.text):
        return _Plan(line, [], tagged=tagged)
    texts = tagged.blocks if tagged else [line.text]
    length, most = max(map(translator.source_length, texts)), translator.max_source_length
    if length <= most:
        return _Plan(line, texts, tagged=tagged)
    seen = f"line {line.number} has {length} pieces and the model takes {most}"
    if long_lines == "refuse":
        return _Plan(line, [], f"{seen}; not translated", refused=True)
    parts = [part for text in texts for part in split(text, lambda t: _fits(t, translator))]
    return _Plan(line, parts, f"{seen}; translated in {len(parts)} parts", tagged=tagged)


def _fits(text: str, translator: Translates) -> bool:
    return translator.source_length(text) <= translator.max_source_length


def _outcome(plan: _Plan, results: list[Translation]) -> Outcome:
    if plan.refused:
        return Outcome(plan.line, None, plan.note)
    return Outcome(plan.line, _joined(plan.line.text, results), plan.note, tuple(results))


def _with_tags(
    plans: list[_Plan], parts: list[list[Translation]], outcomes: list[Outcome], aligner: Aligner
) -> list[Outcome]:
    """The outcomes with the markup of their lines, where there was a line to translate."""
    lines = [
        InParts(plan.tagged, part, outcome.translation)
        for plan, part, outcome in zip(plans, parts, outcomes, strict=True)
        if plan.tagged and outcome.translation
    ]
    done = with_tags(lines, aligner)
    return [
        outcome._replace(translation=next(done)) if plan.tagged and outcome.translation else outcome
        for plan, outcome in zip(plans, outcomes, strict=True)
    ]


def _joined(source: str, parts: list[Translation]) -> Translation:
    """One translation from those of the parts, best with best, second with second, and so on."""
    if not parts:
        return Translation(source, (EMPTY,))
    if len(parts) == 1:
        return Translation(source, parts[0].hypotheses)
    ranks = zip(*(part.hypotheses for part in parts), strict=False)
    return Translation(source, tuple(_concatenated(rank) for rank in ranks))


def _concatenated(parts: tuple[Hypothesis, ...]) -> Hypothesis:
    """Texts with a space between; the probability of them all and their mean score."""
    return Hypothesis(
        text=" ".join(part.text for part in parts if part.text),
        score=sum(part.score for part in parts) / len(parts),
        log_prob=sum(part.log_prob for part in parts),
        tokens=tuple(token for part in parts for token in part.tokens),
        ids=tuple(id for part in parts for id in part.ids),
        truncated=any(part.truncated for part in parts),
    )
