"""Views of a square image: the whole, its centre, and the whole in a larger size."""

from __future__ import annotations

from collections.abc import Callable

from PIL import Image

CENTRE = 7 / 8  # share of each side
LARGER = 8 / 7  # factor of each side: a grid of 8 x 8 cells instead of 7 x 7

View = Callable[[Image.Image], Image.Image]


def whole(square: Image.Image) -> Image.Image:
    """Return the square unchanged."""
    return square


def centre(square: Image.Image) -> Image.Image:
    """Return the centre, 7/8 of each side, in the size of the square."""
    left = top = round(square.width * (1 - CENTRE) / 2)
    part = square.crop((left, top, square.width - left, square.height - top))
    return part.resize(square.size, Image.Resampling.BILINEAR)


def larger(square: Image.Image) -> Image.Image:
    """Return the square with sides 8/7 times as long."""
    side = round(square.width * LARGER)
    return square.resize((side, side), Image.Resampling.BILINEAR)


VIEWS: tuple[View, ...] = (whole, centre, larger)
ONE_SIZE = 2  # number of views, the first ones, that have the size of the square
