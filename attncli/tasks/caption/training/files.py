"""Files of prepared captions in a run folder.

data/tokenizer.model, target.ids, target.offsets.npy    captions to train on, as token ids
data/links.ids, links.offsets.npy      links of cells and tokens, if data.regions names a file
data/pictures.npy       (N,) index of each caption's image
data/made.json          content hashes of the images, and what was excluded
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attncli.data.alignments.word_links import WordLinks, cell_links, read_word_links
from attncli.data.images.captions import Captioned, read_captions, styled
from attncli.data.text.tokens import Dropped, Side, SideWriter, id_type, read_side
from attncli.tasks.caption.training.source import ImageData
from attncli.training.sources.preparation import read_made, reading
from models.base.errors import ModelError
from models.base.files import write_errors, write_text
from models.text.tokenizer import Tokenizer


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
