"""What is scored: pictures with what people said of them, and captions by some system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from attncli.scoring.captions import CaptionScores, caption_scores


class CaptionSet(NamedTuple):
    """Pictures and what people said of them."""

    name: str
    images: list[str]  # names, as the file of captions gives them
    references: list[list[str]]


class CaptionSystem(NamedTuple):
    """Captions, and who made them."""

    name: str
    captions: list[str]
    read: str = ""  # how a model read its memory
    seconds: float | None = None  # of captioning, from the files on, if that was done here


class CaptionEvaluation(NamedTuple):
    """A system and what was measured."""

    system: CaptionSystem
    scores: CaptionScores


def evaluate_captions(
    systems: Sequence[CaptionSystem], test: CaptionSet
) -> list[CaptionEvaluation]:
    """The scores of each system."""
    return [CaptionEvaluation(s, caption_scores(s.captions, test.references)) for s in systems]
