"""Alignment of outputs with their sources, by the attention at each output token. Imports torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from attncli.align.pairs import Aligner, drawn, every_head, side_by_side
from attncli.data.corpus import PairLine
from attncli.faithful.result import TranslatedLine
from attncli.task.panels import AlignedPair
from attncli.translate._alignment import by_rank
from models.alignment import Alignment, align_translations
from models.core.types import Translation
from models.text.lexicon import UnitEntry


def with_alignments(
    results: Iterable[list[TranslatedLine]], aligners: Sequence[Aligner]
) -> Iterator[list[TranslatedLine]]:
    """Add an alignment to each hypothesis, token by token as the model generated it.

    aligners: one for each model of an ensemble; the alignment has a panel for each. A line that was
    translated in parts is aligned in parts.
    """
    for outcomes in results:
        asked = [
            (n, parts) for n, outcome in enumerate(outcomes) for parts in by_rank(outcome.parts)
        ]
        of_models = [_aligned(outcomes, asked, aligner) for aligner in aligners]
        aligned: dict[int, list[AlignedPair]] = {}
        for (n, _), pairs in zip(asked, zip(*of_models, strict=True), strict=True):
            aligned.setdefault(n, []).append(side_by_side(pairs))
        yield [
            replace(outcome, alignments=tuple(aligned.get(n, ())))
            for n, outcome in enumerate(outcomes)
        ]


def _aligned(
    outcomes: list[TranslatedLine],
    asked: list[tuple[int, tuple[Translation, ...]]],
    aligner: Aligner,
) -> list[AlignedPair]:
    """Return the alignments of hypotheses by one model. asked: line and parts of each."""
    flat = [part for _, parts in asked for part in parts]
    found = align_translations(
        aligner.translator,
        flat,
        config=aligner.config,
        max_batch_tokens=aligner.max_batch_tokens,
        scored=False,
    )
    heads = every_head(aligner, flat)
    each = zip(found, heads, strict=True)
    return [_whole(outcomes[n], [next(each) for _ in parts], aligner) for n, parts in asked]


def _whole(
    outcome: TranslatedLine, parts: list[tuple[Alignment, np.ndarray | None]], by: Aligner
) -> AlignedPair:
    """Return the alignment of a hypothesis. parts: with the weights of every head, or None."""
    found = zip([alignment for alignment, _ in parts], outcome.stand_ins, strict=True)
    whole = joined([with_parts(*each) for each in found])
    heads = parts[0][1] if len(parts) == 1 else None
    pair = PairLine(outcome.line.number, outcome.line.text, outcome.text)
    return drawn(pair, whole, by, heads)


def joined(parts: Sequence[Alignment]) -> Alignment:
    """Join the alignments of the parts of a text, without links between them; rows have one."""
    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    links, entries = set(), list[UnitEntry]()
    for part in parts:
        links |= {(i + len(source), j + len(target)) for i, j in part.links}
        entries += [one._replace(unit=one.unit + len(source)) for one in part.entries]
        source, target = source + part.source, target + part.target
    return parts[0]._replace(
        source=source,
        target=target,
        weights=torch.block_diag(*(part.weights for part in parts)),
        links=frozenset(links),
        score=sum(part.score for part in parts) / len(parts),
        null=torch.cat([part.null for part in parts if part.null is not None]),
        note="; ".join(part.note for part in parts if part.note),
        entries=tuple(entries),
    )


def with_parts(alignment: Alignment, stand_ins: Sequence[tuple[str, str, str]]) -> Alignment:
    """Return an alignment whose words have the protected parts in place of the stand-ins."""
    source, target = alignment.source, alignment.target
    for stand_in, raw, shown in stand_ins:
        source = tuple(word.replace(stand_in, raw) for word in source)
        target = tuple(word.replace(stand_in, shown) for word in target)
    return alignment._replace(source=source, target=target)
