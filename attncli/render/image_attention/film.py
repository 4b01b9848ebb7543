"""Attention maps as an animated GIF: the image, then a frame per word, above the caption."""

from __future__ import annotations

import io

from PIL import Image, ImageColor, ImageDraw

from attncli.render.image_attention.lettering import INK, PALE, PAPER, font, wrapped
from attncli.render.image_attention.maps import AttentionMaps, highlighted

SIDE, GAP, LINE, SIZE = 384, 12, 24, 17
WORD, LAST = 900, 1800  # milliseconds of a frame
LIT = "#c2410c"  # colour of the current word
LETTERS = (INK, PALE, PAPER, LIT)  # colours that every frame has exactly


def gif(attention: AttentionMaps) -> bytes:
    """Return the frames as a GIF that repeats forever."""
    frames = [_of_256_colours(frame(attention, word)) for word in range(-1, len(attention.words))]
    times = [WORD] * (len(frames) - 1) + [LAST]
    buffer = io.BytesIO()
    frames[0].save(
        buffer, "GIF", save_all=True, append_images=frames[1:], duration=times, loop=0, disposal=1
    )
    return buffer.getvalue()


def _of_256_colours(image: Image.Image) -> Image.Image:
    """Return an image with a palette: the colours of the letters, and the best for the rest.

    The colours are chosen from a sixteenth of the pixels, which takes a tenth of the time.
    """
    letters = [level for name in LETTERS for level in ImageColor.getrgb(name)]
    few = image.resize((image.width // 4, image.height // 4)).quantize(256 - len(LETTERS))
    colours = (few.getpalette() or [])[: 3 * (256 - len(LETTERS))]
    few.putpalette(letters + colours)
    return image.quantize(palette=few, dither=Image.Dither.FLOYDSTEINBERG)


def frame(attention: AttentionMaps, word: int) -> Image.Image:
    """Return the frame of a word; word -1 is the image itself. All frames have equal size."""
    lines = wrapped(attention.caption, SIDE - 2 * GAP, SIZE)
    sheet = Image.new("RGB", (SIDE, SIDE + 2 * GAP + LINE * (len(lines) + 1)), PAPER)
    sheet.paste(
        attention.image.resize((SIDE, SIDE)) if word < 0 else highlighted(attention, word, SIDE),
        (0, 0),
    )
    draw, number, top = ImageDraw.Draw(sheet), 0, SIDE + GAP
    for line in lines:
        left = float(GAP)
        for text in line.split():
            draw.text((left, top), text, fill=LIT if number == word else INK, font=font(SIZE))
            left += font(SIZE).getlength(f"{text} ")
            number += 1
        top += LINE
    note = f"{attention.figures(word)}  {attention.read}" if word >= 0 else attention.read
    draw.text((GAP, top + 2), note, fill=PALE, font=font(12))
    return sheet
