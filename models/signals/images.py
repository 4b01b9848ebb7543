"""Image files to the input of an image network: RGB, upright, square.

Grey, palette, CMYK and 16-bit images are converted, transparency becomes white, EXIF rotation is
applied, and only the first frame of an animation is used. A damaged image, or one that is too
large to open safely, raises a ModelError.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy
import torch
from PIL import Image, ImageOps, UnidentifiedImageError, features
from torch import Tensor

from models.core.config import ImageConfig
from models.core.errors import InputError, ModelError, NotFoundError, install_command, is_exhausted
from models.core.files import open_regular
from models.core.limits import IMAGE_BYTES, IMAGE_PIXELS, IMAGE_SIDE

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
AVIF = ("AVIF",) if features.check("avif") else ()  # Pillow reads it from 11.3 on
AVIF_BRANDS = (b"avif", b"avis")
HEIC = "HEIF"  # Pillow's name of HEIC, the format of phones
HEIC_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
BROKEN = (  # exceptions that Pillow raises for damaged files
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    OverflowError,
    AttributeError,
    EOFError,
    RuntimeError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
)
EXIF_ORIENTATION, SIDEWAYS = 0x0112, 5  # tag, and the first value of those that turn sides
FEWER_PIXELS = f"at most {IMAGE_PIXELS:,}, and {IMAGE_SIDE:,} in a row", "make it smaller first"


def open_image(
    source: Path | bytes,
    *,
    name: str = "",
    least: int = 0,
    before: Callable[[int], None] = lambda pixels: None,
) -> Image.Image:
    """Open the image in a file, or in its bytes, as RGB and upright.

    name: for messages; the default is the path, or "the image".
    least: minimum side in pixels. A large JPEG is opened at a smaller scale, which is several times
    faster, if neither side becomes smaller than this. The default 0 opens it at its own size.
    before: called with the number of pixels before they are decoded; it may wait for memory.
    Raises NotFoundError for a missing file and InputError for one that is not a readable image.
    """
    name = name or ("the image" if isinstance(source, bytes) else str(source))
    with (
        _readable(name),
        _stream(source, name) as stream,
        Image.open(stream, formats=_formats(stream, name)) as image,
    ):
        if image.width * image.height > IMAGE_PIXELS or max(image.size) > IMAGE_SIDE:
            raise InputError(f"{name} has {image.width} x {image.height} pixels", *FEWER_PIXELS)
        if least:
            image.draft(None, (least, least))
        # before they are decoded: a small file can have a hundred million pixels
        before(image.width * image.height)
        image.load()
        return rgb(upright(image))


def to_tensor(image: Image.Image, config: ImageConfig) -> Tensor:
    """Return the pixels (3, size, size), from 0 to 1, of the square that the model reads."""
    pixels = torch.from_numpy(numpy.array(to_square(image, config)))  # (size, size, 3)
    return pixels.permute(2, 0, 1).float().div(255)


def to_square(image: Image.Image, config: ImageConfig) -> Image.Image:
    """Return the square that the model reads: the centre of an image, or all of it squashed."""
    size, method = (config.size, config.size), Image.Resampling[config.resample.upper()]
    image = upright(image)
    image = image if image.mode == "RGB" else rgb(image)
    return ImageOps.fit(image, size, method) if config.fit == "crop" else image.resize(size, method)


def in_shape(image: Image.Image, config: ImageConfig, side: int = 448) -> Image.Image:
    """Return what the model reads of an image in its own shape; its longer side has `side` pixels.

    It is the centre of an image that is cropped, and all of one that is squashed.
    """
    if config.fit == "crop":
        return to_square(image, replace(config, size=side))
    image = rgb(upright(image))
    scale = side / max(image.size)
    width, height = (max(1, round(scale * length)) for length in image.size)
    return image.resize((width, height))


def in_square(
    box: tuple[float, float, float, float], size: tuple[int, int], config: ImageConfig
) -> tuple[float, float, float, float]:
    """Return a box of an image in shares of the square that the model reads of it.

    box: left, top, right, bottom, in shares of an image of a size (width, height). Raises
    InputError for a box that is empty, or outside of the square.
    """
    sides, side = size, min(size) if config.fit == "crop" else 0
    found = []
    for at in range(4):
        whole = sides[at % 2]
        part = side or whole
        found.append(min(max((box[at] * whole - (whole - part) / 2) / part, 0.0), 1.0))
    left, top, right, bottom = found
    if left >= right or top >= bottom:
        read = "the square in its centre" if side else "it"
        raise InputError(
            "a frame without a part of the image that the model reads", f"one in {read}"
        )
    return left, top, right, bottom


def size_of(source: Path | bytes) -> tuple[int, int]:
    """Return width and height of an image, upright; see `open_image` for errors."""
    name = "the image" if isinstance(source, bytes) else str(source)
    with (
        _readable(name),
        _stream(source, name) as stream,
        Image.open(stream, formats=_formats(stream, name)) as image,
    ):
        turned = image.getexif().get(EXIF_ORIENTATION, 1) >= SIDEWAYS
        width, height = image.size
        return (height, width) if turned else (width, height)


def upright(image: Image.Image) -> Image.Image:
    """Rotate an image by its EXIF orientation; return it unchanged if the data are damaged."""
    try:
        return ImageOps.exif_transpose(image)
    except BROKEN:
        return image


def rgb(image: Image.Image) -> Image.Image:
    """Convert an image of any mode to RGB; transparent pixels become white."""
    if image.mode.startswith(("I", "F")):
        image = eight_bit(image)
    if image.mode in ("RGBA", "RGBa", "LA", "La", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        # Pillow's own conversion would show the colour behind transparent pixels, which is often
        # black
        ground = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(ground, image).convert("RGB")
    return image.convert("RGB")


def eight_bit(image: Image.Image) -> Image.Image:
    """Convert a grey image of 16 or 32 bits, or of floating point, to 8 bits.

    If the mode does not define the highest value, the first of these that no pixel exceeds is
    assumed: 1 and 255 (floating point only), 65535, the highest value in the image.
    """
    values = numpy.nan_to_num(numpy.asarray(image).astype(numpy.float64)).clip(0)
    highest = float(values.max())
    ranges = [1.0] * (image.mode == "F") + [255.0] * (image.mode == "F") + [65535.0]
    top = next((top for top in ranges if highest <= top), highest)
    return Image.fromarray((values * (255 / top)).round().astype(numpy.uint8), mode="L")


def _formats(stream: BinaryIO, name: str) -> tuple[str, ...]:
    """Return the formats that an image may have, given its first bytes: length, "ftyp", brand.

    HEIC needs the package pillow-heif, which is optional because it brings a video decoder. Raises
    InputError if it is missing.
    """
    head = stream.read(12)
    stream.seek(0)
    if head[4:8] == b"ftyp" and head[8:] in AVIF_BRANDS and not AVIF:
        raise InputError(f"{name} is an AVIF image", "Pillow 11.3 or newer, which reads it")
    if head[4:8] != b"ftyp" or head[8:] not in HEIC_BRANDS:
        return FORMATS + AVIF
    try:
        importlib.import_module("pillow_heif").register_heif_opener()
    except ImportError:
        raise InputError(
            f"{name} is a HEIC image",
            "the package pillow-heif, which reads it",
            f"install it: {install_command('heic')}, or convert the image to JPEG",
        ) from None
    return (HEIC,)


def _stream(source: Path | bytes, name: str) -> BinaryIO:
    if isinstance(source, bytes):
        return io.BytesIO(source)
    return open_regular(source, IMAGE_BYTES, name)


@contextlib.contextmanager
def _readable(name: str) -> Iterator[None]:
    """Raise a ModelError of one line for a missing, damaged or dangerous file."""
    known = "a JPEG, PNG, WebP, GIF, BMP, TIFF or AVIF"
    warnings.filterwarnings("ignore", module="PIL")  # of unusual EXIF data and of many pixels
    try:
        yield
    except ModelError:
        raise
    except FileNotFoundError:
        raise NotFoundError(f"no file {name}", known) from None
    except UnidentifiedImageError:
        raise InputError(f"{name} is not a readable image", known) from None
    except Image.DecompressionBombError:
        raise InputError(f"{name} has too many pixels", *FEWER_PIXELS) from None
    except BROKEN as error:
        if is_exhausted(error):
            raise
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        reason = " ".join(reason.split())
        raise InputError(f"{name} cannot be read ({reason})", f"a complete {known[2:]}") from None
