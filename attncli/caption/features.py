"""Stores of image features or pixels, computed once and reused by later runs.

A frozen encoder needs only its features; an encoder that is trained needs the pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from attncli.caption._captions import Images
from attncli.caption.image_features import FeatureCache, RowKind, cache_folder
from attncli.data.named_files import FileRange, ImageIndex, content_hash, open_images
from attncli.training.config import TrainConfig
from attncli.training.interfaces import Progress
from attncli.training.start import start_of
from models.core.config import ImageConfig, ImageModelConfig
from models.core.errors import ModelError, NotFoundError
from models.networks.image_encoder import PREPROCESSING, ImageEncoder, identity
from models.signals.images import open_image, to_tensor

CHUNK = 32  # images whose rows are stored at a time

ReadImage = Callable[[str], bytes]  # content hash to file content; raises ModelError
Broken = dict[str, str]  # content hash of an image that cannot be decoded: reason, with its name


class FeatureStore(NamedTuple):
    """A cache of one kind of rows, and the function that computes them."""

    cache: FeatureCache
    image: ImageConfig
    compute: Callable[[Tensor], np.ndarray]  # (B, 3, h, w) from 0 to 1, to rows (B, ...)
    slots: int
    label: str  # for the progress display

    def images(self, keys: Iterable[str]) -> Images:
        """Return the stored rows of images, given their content hashes, as a column."""
        return Images(self.cache.table(), self.cache.rows(keys), self.slots)


def first_encoder(
    config: ImageModelConfig, start_from: str, seed: int, name: str = "encoder"
) -> ImageEncoder:
    """Return the encoder that a run starts with, with pretrained weights if there are any.

    name: of the encoder in the model.
    """
    torch.manual_seed(seed)
    encoder = ImageEncoder(config)
    start_of(start_from).fill_encoder(encoder, name)
    return encoder.eval()


def feature_stores(
    model: ImageModelConfig,
    cached: str,
    train: TrainConfig,
    start_from: str,
    name: str = "encoder",
) -> list[FeatureStore]:
    """Return the stores a run needs: features while its encoder is frozen, pixels when trained.

    cached: folder of the cached features; empty: the user's cache. start_from, name: as for
    `first_encoder`. Raises ModelError if that refuses the initial model.
    """
    encoder = first_encoder(model, start_from, train.seed, name)
    folder = Path(cached) if cached else cache_folder() / "features"
    found = []
    if encoder.frozen and train.encoder_from != 1:
        found.append(features(encoder, model.image, folder))
    if not encoder.frozen or train.encoder_from:
        found.append(pixels(encoder, model.image, folder))
    return found


def features(encoder: ImageEncoder, config: ImageConfig, folder: Path) -> FeatureStore:
    """Return the store of a frozen encoder's features, in fp16."""
    shape = (encoder.slots, encoder.value_size)
    made_by = f"{config.encoder}, weights {Path(config.weights).name}, grid {config.grid or 'last'}"
    name = f"{config.encoder}-{identity(encoder, config)}"
    cache = FeatureCache(folder / name, RowKind(shape, "float16", made_by))

    @torch.inference_mode()
    def compute(images: Tensor) -> np.ndarray:
        return half(encoder.features(images))

    return FeatureStore(cache, config, compute, encoder.slots, "computing features")


def pixels(encoder: ImageEncoder, config: ImageConfig, folder: Path) -> FeatureStore:
    """Return the store of the square of pixels that the encoder reads."""
    size, name = config.size, f"pixels-{PREPROCESSING}-{config.fit}-{config.size}"
    cache = FeatureCache(folder / name, RowKind((3, size, size), "uint8", name))

    def compute(images: Tensor) -> np.ndarray:
        return (images * 255).round().byte().numpy()

    return FeatureStore(cache, config, compute, encoder.slots, "decoding images")


def add_missing(
    store: FeatureStore, names: Mapping[str, str], read: ReadImage, progress: Progress
) -> Broken:
    """Compute the rows of images that the store does not have, and store a chunk at a time.

    names: name of each image, for messages, by its content hash. Each image is computed alone,
    because the rounding of a convolution depends on the batch size. In batches, a row would depend
    on the rows that the cache already had.
    """
    broken: Broken = {}
    if not store.cache.missing(names):
        return broken
    # two runs that need the same features would otherwise compute all of them twice
    with store.cache.writing(lambda: progress("waiting for another run's features", 0, 0)):
        needed = store.cache.missing(names)
        for start in range(0, len(needed), CHUNK):
            progress(store.label, start, len(needed))
            rows: dict[str, np.ndarray] = {}
            for key in needed[start : start + CHUNK]:
                try:
                    # reduced as when it is captioned
                    image = open_image(read(key), name=names[key], least=store.image.size)
                    rows[key] = store.compute(to_tensor(image, store.image)[None])
                except ModelError as error:
                    broken[key] = "; ".join(filter(None, [error.found, error.hint]))
            if rows:
                store.cache.add(list(rows), np.concatenate(list(rows.values())))
    return broken


class ImageFiles:
    """Images in a folder or TAR file, or by path; their stores get inputs of those that are used.

    path: of the folder or TAR file; "": names of images are paths.
    """

    def __init__(self, path: str, stores: Sequence[FeatureStore]) -> None:
        self.path, self.stores = path, stores

    @cached_property
    def index(self) -> ImageIndex | None:
        """The files of the folder or TAR file, which is opened only if one is read."""
        return open_images(self.path) if self.path else None

    def read(self, name: str) -> bytes:
        """Return the content of an image; raise NotFoundError if there is none of the name."""
        place = FileRange(Path(name)) if self.index is None else self.index.find(name)
        if place is None:
            raise NotFoundError(f"{self.path} has no image {name!r}", "the images that are named")
        return place.read()

    def add(self, names: Mapping[str, str], progress: Progress) -> Broken:
        """Store the inputs of images, given their names by content hash.

        Return those that cannot be decoded. Raises ModelError for an image that has changed.
        """

        def read(key: str) -> bytes:
            with suppress(NotFoundError):
                # features of a changed image would be stored under the digest of the old one
                if content_hash(content := self.read(names[key])) == key:
                    return content
            raise ModelError(f"{names[key]} changed or was removed since the run started")

        broken = Broken()
        for store in self.stores:
            broken |= add_missing(store, names, read, progress)
        return broken


def half(values: Tensor) -> np.ndarray:
    """Return values as fp16, clamped to its range."""
    limit = torch.finfo(torch.float16).max
    # a value beyond the range of fp16 would become infinite
    return values.clamp(-limit, limit).half().cpu().numpy()
