"""Measure alignments against the links that people made.

    precision = |A & P| / |A|        recall = |A & S| / |S|        F = 2 / (1/precision + 1/recall)
    AER = 1 - (|A & S| + |A & P|) / (|A| + |S|)
with links A, sure links S and possible links P of the gold, S within P; sums over all sentences.
Source: Och and Ney 2003, section 4.1; Fraser and Marcu 2007, section 4 (F).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from attncli.data.links import Link, Links


class AlignmentScores(NamedTuple):
    """How well links agree with the gold's; all but the count from 0 to 1."""

    name: str
    error_rate: float
    precision: float
    recall: float
    f: float
    links: int
    note: str = ""  # how the links were read or made


def score_alignments(
    name: str, found: Iterable[frozenset[Link]], gold: Sequence[Links], note: str = ""
) -> AlignmentScores:
    """Scores of the links of all pairs."""
    links = sure = hits = certain = 0
    for row, wanted in zip(found, gold, strict=True):
        links += len(row)
        sure += len(wanted.sure)
        hits += len(row & (wanted.possible | wanted.sure))
        certain += len(row & wanted.sure)
    precision, recall = share(hits, links), share(certain, sure)
    return AlignmentScores(
        name=name,
        error_rate=1 - share(certain + hits, links + sure),
        precision=precision,
        recall=recall,
        f=share(2 * precision * recall, precision + recall),
        links=links,
        note=note,
    )


def share(part: float, whole: float) -> float:
    """A part of a whole; all of nothing is 1."""
    return part / whole if whole else float(not part)
