"""Settings of captioned images, and the files of prepared captions in a run folder.

data/tokenizer.model, target.ids, target.offsets.npy    captions to train on, as token ids
data/links.ids, links.offsets.npy      links of cells and tokens, if data.regions names a file
data/pictures.npy       (N,) index of each caption's image
data/made.json          content hashes of the images, and what was excluded
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attncli.data.alignments import WordLinks, cell_links, read_word_links
from attncli.data.captions import Captioned, parts_of, read_captions, styled
from attncli.data.tokens import Dropped, Side, SideWriter, id_type, read_side
from attncli.training.settings.config import DataConfig
from attncli.training.sources import read_made, reading
from models.core.errors import ModelError
from models.core.files import write_errors, write_text
from models.core.settings import option
from models.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    pass


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
        found = super().absolute()
        if found.captions and not found.dev_captions and parts_of(found.captions):
            return replace(found, dev_captions=found.captions)
        return found


@dataclass(frozen=True)
class Manifest:
    """The content of `data/made.json`."""

    train: dict[str, str]  # name of an image: content hash
    dev: dict[str, str]
    missing: list[str]  # names that no file has
    broken: dict[str, str]  # name of an image that cannot be decoded: reason, with the name
    empty: int  # captions excluded
    long: int


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write `made.json`."""
    write_text(folder / "made.json", json.dumps(dataclasses.asdict(manifest), ensure_ascii=False))


def read_manifest(folder: Path) -> Manifest:
    """Return the content of `made.json`; raise a ModelError if it is damaged."""
    with reading(f"the prepared captions in {folder} are"):
        return Manifest(**read_made(folder))


def write_captions(
    train: list[Captioned],
    tokenizer: Tokenizer,
    folder: Path,
    data: ImageData,
    regions: Regions | None = None,
) -> Dropped:
    """Write token ids, image indices and links; count captions that are empty or too long."""
    numbers, empty, long = [], 0, 0
    with write_errors(folder):
        writer = SideWriter(folder, "target", id_type(len(tokenizer.target)))
        links = SideWriter(folder, "links", np.dtype(np.uint32)) if regions else None
        for number, image in enumerate(train):
            for place, caption in enumerate(image.captions):
                ids = tokenizer.encode_target(styled(caption, data.caption_style))
                if len(ids) < 2:
                    empty += 1
                elif len(ids) > data.max_length:
                    long += 1
                else:
                    writer.add([ids])
                    numbers.append(number)
                    if links and regions:
                        words = regions.links[image.image][place]
                        found = cell_links(words, regions.cells, ids, tokenizer)
                        links.add([found.flatten().tolist()])
        writer.close()
        if links:
            links.close()
        np.save(folder / "pictures.npy", np.array(numbers, np.int64), allow_pickle=False)
    if not numbers:
        raise ModelError(
            f"no usable caption in {data.captions}: {empty:,} are empty, "
            f"{long:,} are longer than data.max_length",
            "captions of that length",
        )
    return Dropped(empty, long)


class Regions(NamedTuple):
    """Cells that the words of captions name."""

    links: dict[str, list[WordLinks]]  # of each caption of an image: cell, word
    cells: int  # of an image


def read_regions(data: ImageData, cells: int) -> Regions | None:
    """Return the regions of the captions, or None if the settings name no file."""
    if not data.regions:
        return None
    captions = read_captions(data.captions, part="train")
    total = sum(len(image.captions) for image in captions)
    lines = iter(read_word_links(Path(data.regions), total, "caption"))
    return Regions({one.image: list(islice(lines, len(one.captions))) for one in captions}, cells)


class PreparedCaptions(NamedTuple):
    """The memory-mapped captions of a run."""

    target: Side
    images: np.ndarray  # (N,) index of each caption's image
    links: Side | None


def read_prepared_captions(folder: Path) -> PreparedCaptions:
    """Return the memory-mapped captions of a run."""
    with reading(f"the prepared captions in {folder} are"):
        links = read_side(folder, "links") if (folder / "links.ids").exists() else None
        images = np.load(folder / "pictures.npy", allow_pickle=False)
        return PreparedCaptions(read_side(folder, "target"), images, links)
