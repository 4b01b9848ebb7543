"""Text in pictures, in the font that matplotlib includes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import ImageFont

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

INK, PALE, PAPER = "#1a1a1a", "#6a6a6a", "#ffffff"


@cache
def font(size: int, *, bold: bool = False) -> FreeTypeFont:
    """Return DejaVu Sans, which has the letters of most alphabets."""
    import matplotlib

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(str(Path(matplotlib.get_data_path(), "fonts", "ttf", name)), size)


def fitted(text: str, width: float, size: int, *, bold: bool = False) -> FreeTypeFont:
    """Return the font at the largest size, at most `size`, at which the text fits the width."""
    while size > 6 and font(size, bold=bold).getlength(text) > width:
        size -= 1
    return font(size, bold=bold)


def wrapped(text: str, width: float, size: int) -> list[str]:
    """Return the lines of a text, wrapped to a width in pixels."""
    lines: list[str] = []
    for word in text.split():
        if lines and font(size).getlength(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def centred(
    draw: ImageDraw, text: str, left: float, top: float, width: float, font: FreeTypeFont, ink: str
) -> None:
    """Draw one line centred within a width."""
    draw.text((left + (width - font.getlength(text)) / 2, top), text, fill=ink, font=font)
