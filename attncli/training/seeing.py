"""Pictures to what a model is shown of them: made once, and found again by later runs.

Of a frozen encoder these are its features; of one that learns, the pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from attncli.data.caption_examples import Views
from attncli.data.features import FeatureCache, RowKind, cache_folder
from attncli.training.config import RunConfig
from attncli.training.material import Show
from attncli.training.start import first_encoder_weights
from models.config import ImageConfig
from models.encoders.image import PREPROCESSING, ImageEncoder, identity
from models.errors import ModelError
from models.images import open_image, to_tensor

PORTION = 32  # pictures whose rows are stored at a time

Read = Callable[[str], bytes]  # the picture with a content hash; a ModelError if it cannot be read
Broken = dict[str, str]  # content hashes of pictures that cannot be shown, and why


class Sight(NamedTuple):
    """One way to keep pictures: where, and what makes rows of them."""

    cache: FeatureCache
    make: Callable[[Tensor], np.ndarray]  # (B, 3, h, w) from 0 to 1 to rows
    slots: int
    doing: str  # for the progress display

    @property
    def views(self) -> Views:
        """All the rows that are there."""
        return Views(self.cache.table(), self.slots)


def first_encoder(config: RunConfig) -> ImageEncoder:
    """The encoder that a run begins with; weights of its network as far as they are given."""
    torch.manual_seed(config.train.seed)
    encoder = ImageEncoder(config.model)
    first_encoder_weights(encoder, config)
    return encoder.eval()


def sights(config: RunConfig) -> list[Sight]:
    """What a run is to be shown: features while its encoder is frozen, pixels when it learns."""
    encoder, image = first_encoder(config), config.model.image
    place = Path(config.data.features) if config.data.features else cache_folder() / "features"
    found = []
    if encoder.frozen and config.train.encoder_from != 1:
        found.append(features(encoder, image, place))
    if not encoder.frozen or config.train.encoder_from:
        found.append(pixels(encoder, image, place))
    return found


def features(encoder: ImageEncoder, config: ImageConfig, place: Path) -> Sight:
    """The features of a frozen encoder, in fp16."""
    rows, columns = encoder.grid
    shape = (rows * columns, encoder.value_size)
    made_by = f"{config.encoder}, weights {Path(config.weights).name}, grid {config.grid or 'last'}"
    folder = place / f"{config.encoder}-{identity(encoder, config)}"
    cache = FeatureCache(folder, RowKind(shape, "float16", made_by))

    @torch.inference_mode()
    def make(images: Tensor) -> np.ndarray:
        return half(encoder.features(images))

    return Sight(cache, make, rows * columns, "computing features")


def pixels(encoder: ImageEncoder, config: ImageConfig, place: Path) -> Sight:
    """The pixels of the square that the encoder sees."""
    rows, columns = encoder.grid
    size, name = config.size, f"pixels-{PREPROCESSING}-{config.fit}-{config.size}"
    cache = FeatureCache(place / name, RowKind((3, size, size), "uint8", name))

    def make(images: Tensor) -> np.ndarray:
        return (images * 255).round().byte().numpy()

    return Sight(cache, make, rows * columns, "opening pictures")


def see(sight: Sight, keys: Iterable[str], read: Read, config: ImageConfig, show: Show) -> Broken:
    """Make the rows of pictures, by their content hashes, that are not there yet."""
    keys = list(keys)
    if not sight.cache.missing(keys):
        return {}
    with sight.cache.writing(lambda: show("waiting for another run's features", 0, 0)):
        return fill(sight, keys, read, config, show)


def fill(sight: Sight, keys: list[str], read: Read, config: ImageConfig, show: Show) -> Broken:
    """Compute and store the missing rows, a portion at a time.

    Each row is computed from its picture alone. The rounding of a convolution depends on the size
    of the batch, so rows of batches would depend on which rows the cache had before.
    """
    todo, broken = sight.cache.missing(keys), {}
    for start in range(0, len(todo), PORTION):
        show(sight.doing, start, len(todo))
        rows: dict[str, np.ndarray] = {}
        for key in todo[start : start + PORTION]:
            try:
                image = open_image(read(key), least=config.size)  # as it is captioned
                rows[key] = sight.make(to_tensor(image, config)[None])
            except ModelError as error:
                broken[key] = str(error)
        if rows:
            sight.cache.add(list(rows), np.concatenate(list(rows.values())))
    return broken


def half(values: Tensor) -> np.ndarray:
    """Values as fp16, those beyond its range at the end of it."""
    most = torch.finfo(torch.float16).max
    return values.clamp(-most, most).half().cpu().numpy()
