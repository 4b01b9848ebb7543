"""Alignment error rate, precision, recall and F of links against gold links.

    precision = |A & P| / |A|        recall = |A & S| / |S|        F = 2 / (1/precision + 1/recall)
    AER = 1 - (|A & S| + |A & P|) / (|A| + |S|)
A: links; S and P: sure and possible links of the gold, S within P; sums over all sentences.
Source: Och and Ney 2003, section 4.1; Fraser and Marcu 2007, section 4 (F).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from attncli.data.alignments.links import PairLinks
from models.base.types import Link


class AlignmentScores(NamedTuple):
    """Scores of links against gold links, from 0 to 1, and the number of links."""

    name: str
    error_rate: float
    precision: float
    recall: float
    f: float
    links: int
    note: str = ""  # how the links were read or computed


class GoldSummary(NamedTuple):
    """Size of a file of gold links, and how it was read."""

    name: str
    note: str
    pairs: int
    sure: int
    possible: int  # that are not sure


def score_alignments(
    name: str, found: Iterable[frozenset[Link]], gold: Sequence[PairLinks], note: str = ""
) -> AlignmentScores:
    """Return the scores of the links of all pairs; found and gold have an item for each pair."""
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
    """Return part / whole; 1 if both are 0, and 0 if only the whole is."""
    return part / whole if whole else float(not part)
