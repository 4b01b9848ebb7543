"""Views of an image: all of it, its centre, and the mirror images of both."""

from __future__ import annotations

from collections.abc import Callable

from PIL import Image, ImageOps

CENTRE = 7 / 8  # share of each side

View = Callable[[Image.Image], Image.Image]


def whole(image: Image.Image) -> Image.Image:
    """Return the image unchanged."""
    return image


def centre(image: Image.Image) -> Image.Image:
    """Return the centre, 7/8 of each side."""
    left, top = (round(side * (1 - CENTRE) / 2) for side in image.size)
    return image.crop((left, top, image.width - left, image.height - top))


def mirrored(image: Image.Image) -> Image.Image:
    """Return the mirror image."""
    return ImageOps.mirror(image)


def mirrored_centre(image: Image.Image) -> Image.Image:
    """Return the mirror image of the centre."""
    return mirrored(centre(image))


VIEWS: tuple[View, ...] = (whole, centre, mirrored, mirrored_centre)
