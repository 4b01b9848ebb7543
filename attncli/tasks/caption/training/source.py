"""Captioned images in training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attncli.data.images.captions import read_captions
from attncli.training.run.configuration import names_shipped_network
from attncli.training.settings.config import DataConfig
from attncli.training.sources import TrainingSource
from models.base.errors import ModelError
from models.base.settings import option

if TYPE_CHECKING:
    from attncli.training.interfaces import Data, Progress
    from attncli.training.settings.config import RunConfig, TrainConfig
    from models.config import ModelConfig, TokenizerConfig


@dataclass(frozen=True)
class ImageData(DataConfig):
    """Images and their captions."""

    images: str = option("", "a folder of images, or a TAR file of them")
    captions: str = option("", "rows of image, tab, caption; or a Flickr8k, Karpathy or COCO file")
    dev_captions: str = option("", "captions for evaluation during training, as for captions")
    regions: str = option(
        "",
        "a file of the cells that words name: a line of cell-word links for each caption, image by "
        "image, counted from 0, cells row by row",
    )
    caption_style: str = option(
        "words",
        "caption text: words (lower case, no punctuation, as in the papers) or plain (unchanged)",
        choices=("words", "plain"),
    )
    features: str = option(
        "", "folder that caches the features of a frozen image encoder (empty: the user's cache)"
    )

    PARTS = MappingProxyType({"train": "captions", "dev": "dev_captions", "regions": "regions"})
    FOLDERS = ("images",)
    CACHES = ("features",)

    @property
    def is_given(self) -> bool:
        """True if images or a file of captions are named."""
        return bool(self.images or self.captions)

    def absolute(self) -> ImageData:
        """Use a file of captions with splits for evaluation too, if no other is named."""
        from attncli.data.images.captions import parts_of

        found = super().absolute()
        if found.captions and not found.dev_captions and parts_of(found.captions):
            return replace(found, dev_captions=found.captions)
        return found


class ImageTraining(TrainingSource):
    """Images and their captions: a folder or TAR file and a file of captions, or drawn scenes."""

    unit = "captions"
    length_limits = "data.max_length"
    demo_name = "scenes"
    embedded = "embedded scenes"
    default_preset = "show-attend-tell-soft-small"
    example_input = "attn caption IMAGE"
    data = ImageData
    train = ("encoder_from", "noun_swap", "self_critical_from")
    metrics = (*TrainingSource.metrics, "cider")

    def count(self, data: Any, most: int) -> int:
        """Return the number of images, of which each has several captions."""
        return len(read_captions(data.captions, part="train")) if data.captions else most

    def check(self, data: Any, train: TrainConfig, tokenizer: TokenizerConfig, named: str) -> None:
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
