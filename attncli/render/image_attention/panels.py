"""Attention maps as a sheet of panels, one per word: bright where it has attention, with figures.

Source: Xu et al. 2015, Figures 2 and 3.
"""

from __future__ import annotations

import io
import math

from PIL import Image, ImageDraw

from attncli.render.image_attention.lettering import (
    INK,
    PALE,
    PAPER,
    centred,
    fitted,
    font,
    wrapped,
)
from attncli.render.image_attention.maps import AttentionMaps, highlighted

SIDE, GAP, LEGEND = 224, 16, 50  # pixels of a panel: image, margin, text below
COLUMNS = (6, 5, 4)  # allowed numbers; the one that leaves the fewest empty places is used
TITLE, LINE = 19, 26  # size and height of the caption's letters
FOOT = 30


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
            word = attention.words[number - 1]
            place = (left, top + SIDE + 3, SIDE)
            centred(draw, word, *place, fitted(word, SIDE, 17, bold=True), INK)
            centred(
                draw, attention.figures(number - 1), left, top + SIDE + 25, SIDE, font(12), PALE
            )
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
