"""Pictures as they come, to what an image network takes: RGB, upright, square.

Grey, palette, CMYK and 16-bit pictures, transparency (on white), rotation by EXIF and the first
frame of an animation are taken care of; what is broken, or too large to open safely, is refused.
"""

from __future__ import annotations

import contextlib
import io
import struct
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy
import torch
from PIL import Image, ImageOps, UnidentifiedImageError
from torch import Tensor

from models.config import ImageConfig
from models.errors import ModelError, unknown_name
from models.files import open_regular
from models.limits import PICTURE_BYTES, PICTURE_PIXELS

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
FITS = ("crop", "squash")
BROKEN = (  # what Pillow raises on files that are damaged in one way or another
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    OverflowError,
    AttributeError,
    EOFError,
    struct.error,
    zlib.error,
)


def open_image(source: Path | bytes, *, least: int = 0) -> Image.Image:
    """The picture in a file, or in its bytes: RGB and upright.

    least: a large JPEG is opened at a smaller scale, several times faster, as long as neither side
    becomes smaller than this; 0: at its own size.
    """
    name = "the picture" if isinstance(source, bytes) else str(source)
    with _readable(name), _stream(source) as stream, Image.open(stream, formats=FORMATS) as image:
        if image.width * image.height > PICTURE_PIXELS:
            raise too_large(name, image.size)
        if least:
            image.draft(None, (least, least))
        image.load()
        return rgb(upright(image))


def to_tensor(image: Image.Image, config: ImageConfig) -> Tensor:
    """Pixels (3, size, size) from 0 to 1, of the part that the model sees."""
    pixels = torch.from_numpy(numpy.array(to_square(image, config)))  # (size, size, 3)
    return pixels.permute(2, 0, 1).float().div(255)


def to_square(image: Image.Image, config: ImageConfig) -> Image.Image:
    """The square that the model sees of a picture: its middle, or all of it squashed."""
    if config.fit not in FITS:
        raise unknown_name("model.image.fit", config.fit, FITS)
    size, how = (config.size, config.size), Image.Resampling.BILINEAR
    image = image if image.mode == "RGB" else rgb(image)
    return ImageOps.fit(image, size, how) if config.fit == "crop" else image.resize(size, how)


def upright(image: Image.Image) -> Image.Image:
    """A picture turned as its EXIF data say; as it is where they are damaged."""
    try:
        return ImageOps.exif_transpose(image)
    except BROKEN:
        return image


def rgb(image: Image.Image) -> Image.Image:
    """A picture of any mode as RGB, what is transparent on white."""
    if image.mode.startswith(("I", "F")):
        image = eight_bit(image)
    if image.mode in ("RGBA", "RGBa", "LA", "La", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        ground = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(ground, image).convert("RGB")
    return image.convert("RGB")


def eight_bit(image: Image.Image) -> Image.Image:
    """A grey picture of 16 or 32 bits, or of floating point, with 8 bits.

    Where the mode does not tell the range it is taken to be the least usual one that holds all
    values: 1 (floating point), 255, 65535, or the highest value itself.
    """
    values = numpy.nan_to_num(numpy.asarray(image).astype(numpy.float64)).clip(0)
    highest = float(values.max())
    ranges = [1.0] * (image.mode == "F") + [255.0] * (image.mode == "F") + [65535.0]
    top = next((top for top in ranges if highest <= top), highest)
    return Image.fromarray((values * (255 / top)).round().astype(numpy.uint8), mode="L")


def too_large(name: str, size: tuple[int, int]) -> ModelError:
    """The error for a picture that would fill the memory."""
    return ModelError(
        f"{name} has {size[0]} x {size[1]} pixels",
        f"at most {PICTURE_PIXELS:,}",
        "make it smaller first",
    )


def _stream(source: Path | bytes) -> BinaryIO:
    return io.BytesIO(source) if isinstance(source, bytes) else open_regular(source, PICTURE_BYTES)


@contextlib.contextmanager
def _readable(name: str) -> Iterator[None]:
    """Turn what a missing, damaged or dangerous file leads to into one line."""
    known = "a JPEG, PNG, WebP, GIF, BMP or TIFF"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's, of odd EXIF data and of many pixels
            yield
    except ModelError:
        raise
    except FileNotFoundError:
        raise ModelError(f"no file {name}", known) from None
    except UnidentifiedImageError:
        raise ModelError(f"{name} is no picture that can be read", known) from None
    except Image.DecompressionBombError:
        raise ModelError(
            f"{name} has too many pixels", f"at most {PICTURE_PIXELS:,}", "make it smaller first"
        ) from None
    except BROKEN as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        reason = " ".join(reason.split())
        raise ModelError(f"{name} cannot be read ({reason})", f"a whole {known[2:]}") from None
