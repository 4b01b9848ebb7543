"""Texts of several lines: each line is translated as one, and the line ends stay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from attncli.data.lines import Line, TranslatedLine
from attncli.documents.document import LINE_END
from models.base.types import EMPTY, Hypothesis, Translation

JOINED = ("parts", "checks", "marked")  # fields with an entry for each part of a text


def by_line(
    chunks: Iterable[list[Line]],
    translate: Callable[[Iterable[list[Line]]], Iterator[list[TranslatedLine]]],
) -> Iterator[list[TranslatedLine]]:
    """Translate chunks of texts that may have line ends inside; yield the outcome of each text."""
    texts: list[list[Line]] = []

    def divided() -> Iterator[list[Line]]:
        for chunk in chunks:
            texts.append(chunk)
            yield [line._replace(text=part) for line in chunk for part in LINE_END.split(line.text)]

    for outcomes in translate(divided()):
        rest = iter(outcomes)
        yield [
            _joined(line, ends, [next(rest) for _ in range(len(ends) + 1)])
            for line in texts.pop(0)
            for ends in [LINE_END.findall(line.text)]
        ]


def _joined(line: Line, ends: Sequence[str], outcomes: Sequence[TranslatedLine]) -> TranslatedLine:
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
    joined: dict[str, Any] = {
        name: tuple(part for one in outcomes for part in getattr(one, name)) for name in JOINED
    }
    return TranslatedLine(line, Translation(line.text, hypotheses), notes)._replace(
        lost="".join(dict.fromkeys("".join(one.lost for one in outcomes))),
        foreign=all(one.foreign for one in outcomes if one.line.text.strip()),
        in_target=all(one.in_target for one in outcomes if one.line.text.strip()),
        **joined,
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
