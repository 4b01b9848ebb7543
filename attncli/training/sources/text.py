"""Sentence pairs in training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attncli.training.sources.base import TrainingSource
from models.errors import ModelError

if TYPE_CHECKING:
    from attncli.training.config import DataConfig, RunConfig
    from attncli.training.data import Data, DevSet, Progress
    from models.types import VocabularySizes

CAPTION_SETTINGS = ("encoder_from", "self_critical_from")  # of [train], for captioners only


class TextTraining(TrainingSource):
    """Sentence pairs: line-aligned files or a table, or the embedded grammar."""

    unit = "sentence pairs"
    length_limits = "data.max_length or model.max_source"
    demo_name = "demo"
    embedded = "the embedded grammar"
    default_preset = "transformer-tiny"
    example_input = "echo ... | attn translate"

    def has_data(self, data: DataConfig) -> bool:
        """Return True if training files are named."""
        return bool(data.train)

    def files(self, data: DataConfig) -> tuple[str, ...]:
        """Return the paths of the training files."""
        return data.train

    def check(self, config: RunConfig) -> None:
        """Refuse images, settings of captioners, and incomplete sets of files."""
        data, named = config.data, f"preset {config.preset} (family {config.model.family})"
        if data.images or data.captions or data.dev_captions:
            raise ModelError(
                f"pictures or captions for {named}",
                "a preset that captions",
                "--preset show-attend-tell-soft-small",
            )
        for name in CAPTION_SETTINGS:
            if value := getattr(config.train, name):
                raise ModelError(f"train.{name} = {value} for {named}", "0")
        if config.train.metric == "cider":
            raise ModelError(f"train.metric = 'cider' for {named}", "bleu or loss")
        check_files(data)

    def fingerprints(self, config: RunConfig) -> dict[str, str]:
        """Return a hash of training, dev and alignment files."""
        from attncli.training.sources import text_data

        return text_data.fingerprints(config.data)

    def load(self, config: RunConfig, folder: Path, progress: Progress) -> Data:
        """Return tokenised sentence pairs and the dev set."""
        from attncli.training.sources import text_data

        return text_data.load(config, folder, progress)

    def tune_alignment(self, folder: Path, dev: DevSet, *, device: str) -> None:
        """Store in a bundle which attention head aligns best, by sentence pairs of the dev set."""
        from attncli.training.sources.text_dev import choose_head

        choose_head(folder, dev, device)

    def describe_vocabulary(self, sizes: VocabularySizes) -> str:
        """Return the sizes of both vocabularies, or of the joint one."""
        if sizes.joint:
            return f"{sizes.target:,} joint tokens"
        return f"{sizes.source:,} and {sizes.target:,} tokens"


def check_files(data: DataConfig) -> None:
    """Raise ModelError if the named files do not belong together."""
    if len(data.train) > 2:
        names = " ".join(Path(path).name for path in data.train)
        raise ModelError(
            f"{len(data.train)} training files ({names})",
            "two, source and target, or one TSV",
            "name dev files after --dev",
        )
    if data.alignments and not data.train:
        raise ModelError("data.alignments without training files", "both")
    if data.dev and not data.train:
        raise ModelError(
            "dev files without training files", "both, or neither to learn the embedded grammar"
        )
