"""Comparison of captioners."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attncli.jobs.compared import ComparedSource, Sets, TestFiles

if TYPE_CHECKING:
    from attncli.tasks.caption.training.source import ImageData


class ComparedImages(ComparedSource):
    """Captions: compared by CIDEr-D."""

    outputs = "captions"
    presets = "presets of captioners"
    preset, demo_preset = "show-attend-tell-soft-small", "show-attend-tell-soft-nano"
    variants = ("soft", "hard", "general", "sparsemax")
    settings = (  # hard attention has no gradient for the penalty, and learns by these weights
        *("train.attention.coverage=none", "train.attention.reinforce=0.1"),
        "train.attention.entropy=0.002",
    )
    budget = (
        *("train.batch_tokens=512", "train.steps=2000", "train.evaluate_every=500"),
        *("train.patience=0", "train.metric=loss", "data.demo_size=1500"),
    )
    scoring = "attncli.tasks.caption.compared_images:image_scores"

    def prepare(
        self, data: ImageData, seed: int, files: TestFiles, folder: Path
    ) -> tuple[ImageData, Sets]:
        """Return the named files, with a dev set held out if none is named, or drawn scenes."""
        from attncli.tasks.caption import compared_images

        if data.captions:
            return compared_images.given(data, seed, files, folder)
        return compared_images.drawn(data, seed, folder)
