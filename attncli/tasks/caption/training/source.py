"""Captioned images in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from attncli.data.images.captions import read_captions
from attncli.training.run.configuration import names_shipped_network
from attncli.training.sources import TrainingSource
from models.base.errors import ModelError

if TYPE_CHECKING:
    from attncli.training.interfaces import Data, Progress
    from attncli.training.settings.config import DataConfig, RunConfig, TrainConfig
    from models.config import ModelConfig, TokenizerConfig


class ImageTraining(TrainingSource):
    """Images and their captions: a folder or TAR file and a file of captions, or drawn scenes."""

    unit = "captions"
    length_limits = "data.max_length"
    demo_name = "scenes"
    embedded = "embedded scenes"
    default_preset = "show-attend-tell-soft-small"
    example_input = "attn caption IMAGE"
    unfit_data = (
        *("train", "dev", "corpora", "dev_corpora", "labels", "dev_labels"),
        *("noise", "concatenate", "replay", "links"),
    )
    unfit_train = ("subword_sampling", "r_drop")
    metrics = (*TrainingSource.metrics, "cider")

    def count(self, data: DataConfig, most: int) -> int:
        """Return the number of images, of which each has several captions."""
        return len(read_captions(data.captions, part="train")) if data.captions else most

    def has_data(self, data: DataConfig) -> bool:
        """Return True if images or a file of captions are named."""
        return bool(data.images or data.captions)

    def files(self, data: DataConfig) -> tuple[str, ...]:
        """Return the path of the captions."""
        return (data.captions,) if data.captions else ()

    def complete(self, data: DataConfig) -> DataConfig:
        """Use a file of captions with splits for evaluation too, if no other is named."""
        from attncli.data.images.captions import parts_of

        if data.captions and not data.dev_captions and parts_of(data.captions):
            return replace(data, dev_captions=data.captions)
        return data

    def check(
        self, data: DataConfig, train: TrainConfig, tokenizer: TokenizerConfig, named: str
    ) -> None:
        """Refuse texts, images without captions, and captions without images."""
        super().check(data, train, tokenizer, named)
        if bool(data.images) != bool(data.captions):
            found, missing = ("images", "captions") if data.images else ("captions", "images")
            raise ModelError(
                f"data.{found} without data.{missing}", "both", f"give --{missing} too"
            )
        if bool(data.regions) != bool(train.attention.regions):
            raise ModelError("one of data.regions and train.attention.regions", "both")
        for name in ("dev_captions", "regions"):
            if getattr(data, name) and not data.captions:
                raise ModelError(f"data.{name} without data.captions", "both")

    def parts(self, data: DataConfig) -> Mapping[str, Sequence[str]]:
        """Return the paths of captions; images are hashed one by one in `made.json`."""
        found = {"train": (data.captions,), "dev": (data.dev_captions,)}
        return found | ({"regions": (data.regions,)} if data.regions else {})

    def shipped_weights(self, config: ModelConfig) -> dict[str, str]:
        """Return a hash of the image network if it is the shipped one."""
        from attncli.training.run.initial_model import weights_hash
        from models.encoders.edgetpu_weights import shipped_captioner

        if not names_shipped_network(config.image):
            return {}
        return {"image network": weights_hash(shipped_captioner())}

    def load(self, config: RunConfig, folder: Path, progress: Progress) -> Data:
        """Return captions with image features or pixels, and the dev set."""
        from attncli.tasks.caption.training import data as image_data

        if config.train.noun_swap and not config.model.image.labels:
            raise ModelError("train.noun_swap without model.image.labels", "both")
        return image_data.load(config, folder, progress)
