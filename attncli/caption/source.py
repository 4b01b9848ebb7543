"""Training on images and captions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attncli.caption._captions import Captioned, parts_of, read_captions
from attncli.data import scenes
from attncli.data.embedded import as_table, as_tar
from attncli.data.named_files import find_images, open_images
from attncli.training.config import DataConfig
from attncli.training.sources import Comparison, Sizes, TrainingSource
from models.core.config import ImageConfig
from models.core.errors import ModelError
from models.core.settings import Need, option
from models.storage.digests import weights_hash
from models.storage.installed import BOX, DEFAULTS, shipped_captioner

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class ImageData(DataConfig):
    """Images and their captions."""

    images: str = option(
        "", "a folder of images, or a TAR file of them", needs=Need("data.captions")
    )
    captions: str = option(
        "",
        "rows of image, tab, caption; or a Flickr8k, Karpathy or COCO file",
        needs=Need("data.images"),
    )
    dev_captions: str = option(
        "",
        "captions for evaluation during training, as for captions",
        needs=Need("data.captions"),
    )
    regions: str = option(
        "",
        "a file of the cells that words name: a line of cell-word links for each caption, image by "
        "image, counted from 0, cells row by row",
        needs=Need("data.captions"),
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
    def has_regions(self) -> bool:
        """True if the cells of words are named."""
        return bool(self.regions)

    @property
    def is_given(self) -> bool:
        """True if images or a file of captions are named."""
        return bool(self.images or self.captions)

    def rows(self, files: Sequence[Path | str], part: str = "train") -> list[Captioned]:
        """Return the images of a file of captions, of which each has several captions."""
        return read_captions(files[0], part=part)

    def absolute(self) -> ImageData:
        """Use a file of captions with splits for evaluation too, if no other is named."""
        found = super().absolute()
        if found.captions and not found.dev_captions and parts_of(found.captions):
            return replace(found, dev_captions=found.captions)
        return found


class ImageTraining(TrainingSource):
    """Images and their captions: a folder or TAR file and a file of captions, or drawn scenes."""

    data: ImageData
    module = "attncli.caption.data"
    unit, dev_unit = "captions", "images"
    demo_name = "scenes"
    demo_sizes = (2000, 200, 200)
    demo_files = MappingProxyType(
        {"images": "images.tar", "captions": "train.tsv", "dev_captions": "dev.tsv"}
    )
    embedded = "embedded scenes"
    default_preset = "show-attend-tell-soft-small"
    example_input = "attn caption IMAGE"
    table = ImageData
    settings = ("encoder_from", "noun_swap", "self_critical_lr")
    metrics = (*TrainingSource.metrics, "cider")
    comparison = Comparison(
        outputs="captions",
        preset="show-attend-tell-soft-small",
        demo_preset="show-attend-tell-soft-nano",
        variants=("soft", "hard", "general", "sparsemax"),
        metrics={"cider": "cider", "bleu": "bleu4", "rouge_l": "rouge_l"},
        settings=(  # hard attention has no gradient for the penalty, and learns by these weights
            *("train.attention.coverage=none", "train.attention.reinforce=0.1"),
            "train.attention.entropy=0.002",
        ),
        budget=(
            *("train.batch_tokens=512", "train.steps=2000", "train.evaluate_every=500"),
            *("train.patience=0", "train.metric=loss", "data.demo_size=1500"),
        ),
    )

    def check(self) -> None:
        """Refuse texts, images without captions, and captions without images."""
        super().check()
        if self.data.regions and not self.train.attention.regions:
            raise ModelError("data.regions without train.attention.regions", "both")

    @classmethod
    def shipped_weights(cls, config: Any) -> dict[str, str]:
        """Return a hash of the image network if it is the shipped one."""
        if not names_shipped_network(config.image):
            return {}
        return {"image network": weights_hash(shipped_captioner())}

    @classmethod
    def demo_contents(cls, sizes: Sizes, seed: int) -> Iterator[tuple[str, bytes]]:
        """Yield tables of drawn scenes and their captions, and the TAR file of the images."""
        files: list[tuple[str, bytes]] = []
        for part, found in scenes.split(*sizes, seed=seed)._asdict().items():
            names = [f"{part}-{number:05}.png" for number in range(len(found))]
            files += [(name, scenes.png(one)) for name, one in zip(names, found, strict=True)]
            rows = zip(names, (one.captions for one in found), strict=True)
            yield f"{part}.tsv", as_table((name, *(c.text for c in texts)) for name, texts in rows)
        yield "images.tar", as_tar(files)

    def tests(self, files: Sequence[Path]) -> Sequence[Path]:
        """Return the file of captions to test on: that of the run, if it has a test part.

        Raises ModelError for a missing image.
        """
        if not files and "test" in parts_of(self.data.captions):
            files = [Path(self.data.captions)]
        for path in files:
            names = [image.image for image in read_captions(path, part="test")]
            find_images(names, open_images(self.data.images), str(path))
        return files


def names_shipped_network(image: ImageConfig) -> bool:
    """Return True if the image network is that of the shipped captioner."""
    return (image.encoder, image.weights) == (ImageConfig.encoder, ImageConfig.weights)


def start_advice(image: ImageConfig, start_from: str) -> tuple[str, ...]:
    """Return a line that names the shipped captioner as a start, if only its network is used."""
    name = DEFAULTS["caption"]
    if start_from or not names_shipped_network(image) or not (BOX / name).exists():
        return ()
    return (
        f"image network: that of the shipped model {name}; with few images, "
        f"--start-from {name} starts from its decoder and vocabulary too",
    )
