"""Samples of captioners: captions of a few images, and the attention maps of the first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from attncli.data.images.index import open_images
from attncli.data.training_samples import ShownExample
from attncli.render.image_attention.maps import attention_maps
from attncli.render.image_attention.page import figure, jpeg_url
from models.base.errors import ModelError
from models.config.tables import ImageConfig
from models.images.opening import open_image, to_square
from models.inference.captioner import Captioner

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

SIDE = 160  # pixels of an image without maps


def image_samples(
    captioner: Captioner,
    images: str,
    examples: Sequence[tuple[str, str]],
    features: Sequence[Tensor],
) -> list[ShownExample]:
    """Return a sample for each example, a name and a reference caption.

    images: path of the folder or TAR file of images. features: (S, V) of each image.
    """
    captions = captioner.caption(list(features), attention=True)
    samples: list[ShownExample] = []
    for (name, reference), caption in zip(examples, captions, strict=True):
        image = shown_image(images, name, captioner.config.image)
        sample = ShownExample(name, reference, caption.text)
        if image and not samples and caption.attention:
            maps = attention_maps(name, image, caption.attention)
            sample = sample._replace(attention=figure(maps))
        elif image:
            sample = sample._replace(image=jpeg_url(image.resize((SIDE, SIDE)), 80))
        samples.append(sample)
    return samples


@lru_cache(maxsize=64)
def shown_image(images: str, name: str, config: ImageConfig) -> Image | None:
    """Return the square that the model reads of an image; None if it cannot be opened any more."""
    try:
        place = open_images(images).find(name)
        return to_square(open_image(place.read()), config) if place else None
    except ModelError:
        return None
