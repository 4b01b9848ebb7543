"""HEIC images, as phones make them: Pillow reads them with the package pillow-heif.

The package is optional (`pip install "attn[heic]"`), because it brings a video decoder.
"""

from __future__ import annotations

import importlib
from typing import BinaryIO

from models.base.errors import InputError

FORMAT = "HEIF"  # Pillow's name
SUFFIXES = (".heic", ".heif")
HEAD = 12  # bytes that tell the format: length, "ftyp", brand
BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")


def is_heic(stream: BinaryIO) -> bool:
    """Return True if a stream at its beginning holds a HEIC image; its position stays."""
    head = stream.read(HEAD)
    stream.seek(0)
    return head[4:8] == b"ftyp" and head[8:] in BRANDS


def check_heic(name: str) -> None:
    """Make Pillow read HEIC; raise InputError if the package is missing. name: of the image."""
    try:
        importlib.import_module("pillow_heif").register_heif_opener()
    except ImportError:
        raise InputError(
            f"{name} is a HEIC image",
            "the package pillow-heif, which reads it",
            'install it: pip install "attn[heic]", or convert the image to JPEG',
        ) from None
