"""Test sets of captions, the systems that write captions, and the scores of the systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from attncli.scoring.captions import CaptionScores, caption_scores
from attncli.tasks.caption.attention_scores import AttentionScores


class CaptionSet(NamedTuple):
    """Images and their reference captions."""

    name: str
    images: list[str]  # names in the file of captions
    references: list[list[str]]


class CaptionSystem(NamedTuple):
    """Captions by one model or program."""

    name: str
    captions: list[str]
    read: str = ""  # read mode of a model
    seconds: float | None = None  # to read and caption the images, for a model
    attention: AttentionScores | None = None  # of a model, if requested


class CaptionEvaluation(NamedTuple):
    """A system and its scores."""

    system: CaptionSystem
    scores: CaptionScores


def score_systems(systems: Sequence[CaptionSystem], test: CaptionSet) -> list[CaptionEvaluation]:
    """Return the scores of each system."""
    return [CaptionEvaluation(s, caption_scores(s.captions, test.references)) for s in systems]
