"""Images of every kind open as the same image; what cannot be opened is one line."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy
import pytest
import torch
from PIL import Image

from models.core.config import ImageConfig
from models.core.errors import ModelError
from models.core.limits import IMAGE_PIXELS
from models.signals.images import AVIF, FORMATS, open_image, to_square, to_tensor


def scene(width: int = 64, height: int = 48) -> Image.Image:
    """Black, with a red quarter at the top left and a white one at the bottom right."""
    image = Image.new("RGB", (width, height))
    image.paste("red", (0, 0, width // 2, height // 2))
    image.paste("white", (width // 2, height // 2, width, height))
    return image


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def corners(image: Image.Image) -> list[tuple[int, ...]]:
    """Return the colours of the four quarters: top left, top right, bottom left, bottom right."""
    w, h = image.size
    return [image.getpixel((x, y)) for y in (h // 4, 3 * h // 4) for x in (w // 4, 3 * w // 4)]  # type: ignore[misc]


def near(
    found: Sequence[tuple[int, ...]], expected: Sequence[tuple[int, ...]], by: int = 12
) -> None:
    assert numpy.abs(numpy.array(found) - numpy.array(expected)).max() <= by, found


RED, BLACK, WHITE = (255, 0, 0), (0, 0, 0), (255, 255, 255)
SCENE = [RED, BLACK, BLACK, WHITE]
GREY = [(76, 76, 76), BLACK, BLACK, WHITE]  # 0.299 of red


def scaled(factor: float, kind: type) -> Image.Image:
    """Return the scene in grey, its values times a factor."""
    return Image.fromarray((numpy.asarray(scene().convert("L"), float) * factor).astype(kind))


def cleared(mode: str) -> Image.Image:
    """Return the scene whose black quarters are transparent."""
    image = scene().convert(mode)
    light = scene().convert("L").point(lambda value: 255 if value else 0)
    image.putalpha(light)
    return image


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", *AVIF])
def test_every_format_opens_from_a_file_and_from_bytes(kind: str, tmp_path: Path) -> None:
    content = saved(scene(), kind)
    path = tmp_path / "without-suffix"
    path.write_bytes(content)
    for image in (open_image(content), open_image(path)):
        assert image.mode == "RGB" and image.size == (64, 48)
        near(corners(image), SCENE)


MODES: dict[str, tuple[bytes, Sequence[tuple[int, ...]] | None]] = {
    "grey": (saved(scene().convert("L"), "PNG"), GREY),
    "one-bit": (saved(scene().convert("1"), "PNG"), None),
    "palette": (saved(scene().convert("P"), "PNG"), SCENE),
    "cmyk-jpeg": (saved(scene().convert("CMYK"), "JPEG"), SCENE),
    "cmyk-tiff": (saved(scene().convert("CMYK"), "TIFF"), SCENE),
    "16-bit-png": (saved(scaled(257, numpy.uint16), "PNG"), GREY),
    "16-bit-tiff": (saved(scaled(257, numpy.uint16), "TIFF"), GREY),
    "32-bit": (saved(scaled(257, numpy.int32), "TIFF"), GREY),
    "float": (saved(scaled(1 / 255, numpy.float32), "TIFF"), GREY),
    "rgba": (saved(cleared("RGB"), "PNG"), [RED, WHITE, WHITE, WHITE]),
    "grey-alpha": (saved(cleared("L"), "PNG"), [GREY[0], WHITE, WHITE, WHITE]),
    "webp-alpha": (saved(cleared("RGB"), "WEBP", lossless=True), [RED, WHITE, WHITE, WHITE]),
    "transparent": (saved(scene(), "PNG", transparency=BLACK), [RED, WHITE, WHITE, WHITE]),
    "gif-transparent": (saved(scene().convert("P"), "GIF", transparency=0), None),
    "animated": (saved(scene(), "GIF", save_all=True, append_images=[cleared("RGB")]), SCENE),
}


@pytest.mark.parametrize("name", MODES)
def test_every_mode_becomes_rgb(name: str) -> None:
    content, expected = MODES[name]
    image = open_image(content)
    assert image.mode == "RGB" and image.size == (64, 48)
    if expected is not None:
        near(corners(image), expected)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_an_image_that_exif_says_is_turned_is_turned_back(kind: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # taken with the camera turned: shown after a quarter turn clockwise
    image = open_image(saved(scene(), kind, exif=exif))
    assert image.size == (48, 64)
    near(corners(image), [BLACK, RED, WHITE, BLACK])


def test_damaged_exif_data_do_not_matter() -> None:
    image = open_image(saved(scene(), "JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff\x01\x12"))
    near(corners(image), SCENE)


def giant(width: int, height: int) -> bytes:
    """Return the first bytes of a PNG that says it is very large."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0"))


NOISE = Image.fromarray(numpy.random.default_rng(1).integers(0, 255, (48, 64, 3), numpy.uint8))


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        (b"", "not a readable image"),
        (b"hello", "not a readable image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a readable image"),
        *((saved(NOISE, kind)[:1500], "complete") for kind in FORMATS if kind != "GIF"),
        (giant(20_000, 6_000), "120000000|20000 x 6000"),
        (giant(60_000_000, 1), "60000000 x 1"),
        (giant(60_000, 60_000), "has too many pixels; expected at most 100,000,000"),
    ],
)
def test_what_cannot_be_opened_is_refused_in_one_line(
    content: bytes, fact: str, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    path = tmp_path / "odd.jpg"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=fact) as refused:
        open_image(path)
    message = str(refused.value)
    assert "odd.jpg" in message and "\n" not in message and not recwarn.list
    with pytest.raises(ModelError, match="the image"):
        open_image(content)


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no file .*a\.jpg"):
        open_image(tmp_path / "a.jpg")
    with pytest.raises(ModelError, match="cannot be read"):
        open_image(tmp_path)


def test_an_image_just_within_the_limit_is_not_called_a_bomb() -> None:
    side = int(IMAGE_PIXELS**0.5)
    assert open_image(saved(Image.new("1", (side, side)), "PNG")).size == (side, side)


def test_a_large_jpeg_may_be_opened_at_a_smaller_scale() -> None:
    content = saved(scene(1024, 768), "JPEG")
    assert open_image(content).size == (1024, 768)
    small = open_image(content, least=100)
    assert small.size == (128, 96) or (min(small.size) >= 100 and max(small.size) < 1024)
    near(corners(small), SCENE)


def test_the_model_sees_the_middle_or_everything() -> None:
    crop, squash = (ImageConfig(size=16, fit=fit) for fit in ("crop", "squash"))
    wide = Image.new("RGB", (48, 16), "blue")
    wide.paste("red", (16, 0, 32, 16))
    pixels = to_tensor(wide, crop)
    assert pixels.shape == (3, 16, 16) and pixels.dtype == torch.float32
    assert torch.equal(pixels, torch.tensor([1.0, 0, 0])[:, None, None].expand(3, 16, 16))
    near([to_square(wide, squash).getpixel((1, 8))], [(0, 0, 255)])  # type: ignore[list-item]
    near([to_square(wide, squash).getpixel((8, 8))], [RED])  # type: ignore[list-item]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_an_image_that_pillow_opened_is_read_upright_too(orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    content = saved(scene(), "JPEG", exif=exif, quality=95)
    config = ImageConfig(size=32)
    given = to_square(Image.open(io.BytesIO(content)), config)
    near(corners(given), corners(to_square(open_image(content), config)))
