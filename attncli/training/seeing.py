"""Pictures to features: computed once by the frozen encoder, and found again by later runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from models.images import open_image, to_tensor
from torch import Tensor

from attncli.data.features import FeatureCache, RowKind, cache_folder
from attncli.training.material import Show
from models.config import ImageConfig, ModelConfig
from models.encoders.image import ImageEncoder, identity, load_pretrained
from models.errors import ModelError

PORTION = 32  # pictures seen at a time

Read = Callable[[str], bytes]  # the picture with a content hash; a ModelError if it cannot be read


class Seen(NamedTuple):
    """What became of some pictures."""

    cache: FeatureCache
    broken: dict[str, str]  # content hash: why the picture cannot be shown


def frozen_encoder(config: ModelConfig, seed: int) -> ImageEncoder:
    """The encoder that a run with this seed begins with."""
    torch.manual_seed(seed)
    encoder = ImageEncoder(config)
    load_pretrained(encoder, config.image)
    return encoder.eval()


def see(
    keys: Iterable[str], read: Read, config: ModelConfig, *, seed: int, folder: str, show: Show
) -> Seen:
    """The cache with a row for each picture, by its content hash; what is missing is computed."""
    keys = list(keys)
    encoder = frozen_encoder(config, seed)
    cache = features_cache(encoder, config.image, folder)
    if not cache.missing(keys):
        return Seen(cache, {})
    with cache.writing(lambda: show("waiting for the features of another run", 0, 0)):
        return Seen(cache, fill(cache, keys, read, encoder, config.image, show))


def features_cache(encoder: ImageEncoder, config: ImageConfig, folder: str) -> FeatureCache:
    """The cache of what this encoder makes of pictures."""
    rows, columns = encoder.grid
    shape = (rows * columns, encoder.value_size)
    made_by = f"{config.encoder}, weights {Path(config.weights).name}, grid {config.grid or 'last'}"
    place = Path(folder) if folder else cache_folder() / "features"
    name = f"{config.encoder}-{identity(encoder, config)}"
    return FeatureCache(place / name, RowKind(shape, "float16", made_by))


def fill(
    cache: FeatureCache,
    keys: Iterable[str],
    read: Read,
    encoder: ImageEncoder,
    config: ImageConfig,
    show: Show,
) -> dict[str, str]:
    """Compute the rows that are missing, a few at a time; the pictures that cannot be, and why."""
    todo, broken = cache.missing(keys), {}
    for start in range(0, len(todo), PORTION):
        show("computing features", start, len(todo))
        done, images = [], []
        for key in todo[start : start + PORTION]:
            try:
                images.append(to_tensor(open_image(read(key)), config))
                done.append(key)
            except ModelError as error:
                broken[key] = str(error)
        if done:
            cache.add(done, half(features(encoder, torch.stack(images))))
    return broken


@torch.inference_mode()
def features(encoder: ImageEncoder, images: Tensor) -> Tensor:
    """Features (B, S, V) of images (B, 3, h, w)."""
    return encoder.features(images)


def half(values: Tensor) -> np.ndarray:
    """Values as fp16, those beyond its range at the end of it."""
    most = torch.finfo(torch.float16).max
    return values.clamp(-most, most).half().numpy()
