"""Attention maps as a sheet of panels, one per word: bright where it has attention, with figures.

Source: Xu et al. 2015, Figures 2 and 3.
"""

from __future__ import annotations

import io
import math
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from attncli.render.image_attention.maps import AttentionMaps, highlighted

SIDE, GAP, LEGEND = 224, 16, 50  # pixels of a panel: image, margin, text below
COLUMNS = (6, 5, 4)  # allowed numbers; the one that leaves the fewest empty places is used
TITLE, LINE = 19, 26  # size and height of the caption's letters
FOOT = 30
INK, PALE, PAPER = "#1a1a1a", "#6a6a6a", "#ffffff"


def png(attention: AttentionMaps) -> bytes:
    """Return the panels as PNG."""
    buffer = io.BytesIO()
    drawn(attention).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def drawn(attention: AttentionMaps) -> Image.Image:
    """Draw the caption, the image, a panel for each word, and the read mode."""
    count = len(attention.words) + 1
    columns = min(COLUMNS, key=lambda columns: -count % columns)
    columns = max(3, min(columns, count))  # room for the title
    rows = math.ceil(count / columns)
    width = GAP + columns * (SIDE + GAP)
    title = wrapped(attention.caption, width - 2 * GAP, TITLE)
    head = GAP + LINE * len(title) + GAP // 2
    sheet = Image.new("RGB", (width, head + rows * (SIDE + LEGEND) + FOOT), PAPER)
    draw = ImageDraw.Draw(sheet)
    for number, line in enumerate(title):
        draw.text((GAP, GAP + LINE * number - 4), line, fill=INK, font=font(TITLE))
    for number in range(count):
        left = GAP + number % columns * (SIDE + GAP)
        top = head + number // columns * (SIDE + LEGEND)
        image = (
            highlighted(attention, number - 1, SIDE)
            if number
            else attention.image.resize((SIDE, SIDE))
        )
        sheet.paste(image, (left, top))
        if number:
            word, figures = attention.words[number - 1], attention.figures(number - 1)
            for text, letters, ink, below in (
                (word, fitted(word, SIDE, 17, bold=True), INK, 3),
                (figures, font(12), PALE, 25),
            ):
                middle = left + (SIDE - letters.getlength(text)) / 2
                draw.text((middle, top + SIDE + below), text, fill=ink, font=letters)
    note = f"{attention.name}   {explained(attention)}"
    foot = (GAP, sheet.height - FOOT + 6)
    draw.text(foot, note, fill=PALE, font=fitted(note, width - 2 * GAP, 12))
    return sheet


def explained(attention: AttentionMaps) -> str:
    """Return what the figures mean, and the read mode."""
    gate = "" if attention.gates is None else "β gate: how much of it the model used;  "
    cells = math.log(max(1, attention.maps[0].size)) if len(attention.maps) else 0.0
    return (
        f"{gate}H entropy: 0 one cell, {cells:.2f} everywhere alike;  {attention.read} attention"
        if cells
        else f"{attention.read} attention"
    )


@cache
def font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    """Return DejaVu Sans, which has the letters of most alphabets."""
    import matplotlib

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(str(Path(matplotlib.get_data_path(), "fonts", "ttf", name)), size)


def fitted(text: str, width: float, size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
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
