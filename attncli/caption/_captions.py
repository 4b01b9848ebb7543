"""Captions of images in files."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attncli.data import tables
from attncli.data.lines import open_text
from attncli.terminal.messages import counted
from models.core.errors import ModelError
from models.core.settings import parse_json
from models.text.normalise import nfc

if TYPE_CHECKING:
    from torch import Tensor

NUMBERED = re.compile(r"(.+\.\w+)#\d+")  # a name in a token file
PARTS = {  # names of the splits of a Karpathy file
    # restval: images of COCO's validation set that Karpathy's split trains on
    "train": ("train", "restval"),
    "dev": ("val", "dev", "valid", "validation"),
    "test": ("test",),
}
INNER = re.compile(r"(?<=\w)['’-](?=\w)")  # punctuation that belongs to a word
FLIP = 0.5  # share of images that are mirrored
CROP = 0.8  # smallest share of an image's area that is kept; 1: no cropping


class Captioned(NamedTuple):
    """An image and its captions."""

    image: str  # file name, as in the file of captions
    captions: tuple[str, ...]  # at least one


def read_captions(path: Path | str, *, part: str = "") -> list[Captioned]:
    """Return the images of a file in the order in which they first appear.

    part: the split to read, if the file has splits: train, dev or test; "" for all. Raises
    ModelError, with the line number if there is one, for content that cannot be parsed.
    """
    rows = _records(_json(path), path, part) if _is_json(path) else _rows(path)
    found: dict[str, list[str]] = {}
    for image, caption in rows:
        found.setdefault(image, []).append(nfc(caption))
    if not found:
        wanted = f"an image of its part '{part}'" if part else "an image with its caption"
        raise ModelError(f"{path} has no captions", wanted)
    return [Captioned(image, tuple(captions)) for image, captions in found.items()]


def parts_of(path: Path | str) -> set[str]:
    """Return the parts into which a file divides its images: train, dev, test; or none."""
    found = _json(path) if _is_json(path) else None
    images = found.get("images") if isinstance(found, dict) else None
    records = images if isinstance(images, list) else []
    splits = {str(image.get("split")) for image in records if isinstance(image, dict)}
    return {part for part, names in PARTS.items() if not splits.isdisjoint(names)}


def styled(caption: str, style: str) -> str:
    """Return a caption in the style that a model learns.

    words: in lower case and without punctuation, as in the papers; plain: as written, with single
    spaces.
    """
    if style == "words":
        kept = INNER.sub(lambda inner: "\0" if inner[0] == "-" else "\1", caption.lower())
        kept = "".join(" " if unicodedata.category(c)[0] in "PS" else c for c in kept)
        caption = kept.replace("\0", "-").replace("\1", "'")
    return " ".join(caption.split())


def _is_json(path: Path | str) -> bool:
    return tables.read_head(path).lstrip()[:1] in (b"{", b"[")


def _rows(path: Path | str) -> Iterator[tuple[str, str]]:
    """Yield name and caption of each row of a table, a token file or a CSV file."""
    with open_text(path, as_written=True) as lines:
        rows = list(lines)
    first = rows[0] if rows else ""
    if re.fullmatch(r"image(_name)?,\s*caption", first.strip().lower()):
        try:
            yield from _columns(path, list(csv.reader(rows)))
        except csv.Error as error:
            raise ModelError(f"{path} is not a CSV file ({error})", "image and caption") from None
        return
    if re.fullmatch(r"image_name\|\s*comment_number\|\s*comment", first.strip()):  # Flickr30k
        yield from _columns(path, [line.split("|", 2)[::2] for line in rows if line.strip()])
        return
    numbered = NUMBERED.fullmatch(first.partition("\t")[0])
    for number, line in enumerate(rows, 1):
        if not line.strip():
            continue
        name, *captions = line.split("\t")
        if not captions:
            raise ModelError(
                f"{path}, line {number} has no tab",
                "image, tab, caption (or Karpathy's or COCO's JSON)",
            )
        if not name.strip():
            raise ModelError(f"{path}, line {number} has no image's name before the tab")
        if match := numbered and NUMBERED.fullmatch(name):
            name = match[1]
        yield from ((name.strip(), caption.strip()) for caption in captions)


def _columns(path: Path | str, rows: list[list[str]]) -> Iterator[tuple[str, str]]:
    wanted = "image and caption"
    for number, row in enumerate(rows[1:], 2):
        if len(row) != 2:
            raise ModelError(f"{path}, row {number} has {counted(len(row), 'column')}", wanted)
        yield row[0].strip(), row[1].strip()


def _json(path: Path | str) -> Any:
    try:
        return parse_json(tables.read_content(path))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is not JSON ({error})", "Karpathy's or COCO's JSON") from None


def _records(found: Any, path: Path | str, part: str) -> Iterator[tuple[str, str]]:
    """Yield name and caption of each record of a JSON file."""
    expected = '"images" with "sentences" (Karpathy), or "images" and "annotations" (COCO)'
    try:
        if "annotations" not in found:
            yield from _karpathy(found, PARTS.get(part, ()))
            return
        names = {image["id"]: _name(image["file_name"]) for image in found["images"]}
        for annotation in found["annotations"]:
            yield names[annotation["image_id"]], str(annotation["caption"]).strip()
    except (KeyError, TypeError, AttributeError) as error:
        missing = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise ModelError(f"{path} is JSON of another kind ({missing})", expected) from None


def _karpathy(found: Any, splits: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for image in found["images"]:
        if splits and image.get("split", splits[0]) not in splits:
            continue
        folder, name = image.get("filepath", ""), _name(image["filename"])
        name = f"{folder}/{name}" if folder else name
        for sentence in image["sentences"]:
            yield name, str(sentence.get("raw") or " ".join(sentence["tokens"])).strip()


def _name(value: Any) -> str:
    """Return the name of a file; a TypeError for a value of another type."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not a file name")
    return value


@dataclass(frozen=True)
class Images:
    """A column of images: features of a frozen encoder, or pixels."""

    table: np.ndarray  # (rows, S, V) of floats, or (rows, 3, h, w) of bytes; memory-mapped
    rows: np.ndarray  # (N,) row of the table for each example
    slots: int  # S: cells that the encoder leaves
    augment: bool = False  # True: mirror and crop pixels at random

    @property
    def are_pixels(self) -> bool:
        """Return True for pixels, which the encoder has not processed yet."""
        return self.table.ndim == 4

    @property
    def lengths(self) -> np.ndarray:
        """Lengths (N,): 0, because all images have one size."""
        return np.zeros(len(self.rows), np.int64)

    def some(self, numbers: Sequence[int] | np.ndarray) -> Images:
        """Return the column of some examples."""
        return replace(self, rows=self.rows[numbers])

    def padded(self, numbers: np.ndarray | slice) -> tuple[Tensor, Tensor]:
        """Return features (B, S, V) or pixels (B, 3, h, w) from 0 to 1, and the mask (B, S)."""
        import torch

        source = torch.from_numpy(np.ascontiguousarray(self.table[self.rows[numbers]]))
        if self.are_pixels:
            source = source.float().div_(255)
            source = augmented(source) if self.augment else source
        return source, torch.ones(len(source), self.slots, dtype=torch.bool)


def augmented(images: Tensor, *, flip: float = FLIP, crop: float = CROP) -> Tensor:
    """Return mirrored and cropped copies of images (B, 3, h, w).

    The random numbers are those of torch's generator, which checkpoints store.
    """
    import torch
    from torch.nn.functional import affine_grid, grid_sample

    count = len(images)
    scale = (1 - torch.rand(count) * (1 - crop)).sqrt()  # of either side
    mirror = torch.where(torch.rand(count) < flip, -1.0, 1.0)
    shift = (2 * torch.rand(2, count) - 1) * (1 - scale)  # of the middle
    theta = torch.zeros(count, 2, 3)  # from positions in the new image to those in the old
    theta[:, 0, 0], theta[:, 1, 1] = scale * mirror, scale
    theta[:, :, 2] = shift.T
    grid = affine_grid(theta, list(images.shape), align_corners=False)
    return grid_sample(images, grid, padding_mode="border", align_corners=False)
