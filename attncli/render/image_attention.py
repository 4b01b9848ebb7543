"""Maps of attention over an image."""

from __future__ import annotations

import base64
import html
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from attncli.render.image_maps import (
    DARK,
    AttentionMaps,
    described,
    entropy_name,
    explained,
    highlighted,
    npz,
    smooth,
)
from attncli.terminal.messages import GROUND, LETTER, Screen, colour_code, fitted, padded, printable
from models.core.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray


PANEL_SIDE, GAP, LEGEND = 224, 16, 50  # pixels of a panel: image, margin, text below
COLUMNS = (6, 5, 4)  # allowed numbers; the one that leaves the fewest empty places is used
TITLE, LINE = 19, 26  # size and height of the caption's letters
PANEL_FOOT, NOTE = 52, 12  # height of the notes below the panels, and size of their letters
SHARES, CELL = (0, 0.25, 0.5, 0.75, 1), 15  # of the cells of the scale, and their side
INK, PALE, PAPER = "#1a1a1a", "#6a6a6a", "#ffffff"


class Label(NamedTuple):
    """A line of text on a sheet."""

    left: float
    top: float
    text: str
    font: ImageFont.FreeTypeFont
    ink: str = INK


class Sheet(NamedTuple):
    """Images and texts, at places in pixels."""

    size: tuple[int, int]  # width and height
    images: list[tuple[int, int, Image.Image]]  # left, top, image
    labels: list[Label]


def png(attention: AttentionMaps) -> bytes:
    """Return the panels as PNG."""
    buffer = io.BytesIO()
    drawn(attention).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def drawn(attention: AttentionMaps) -> Image.Image:
    """Return the panels as an image."""
    sheet = sheet_of(attention)
    image = Image.new("RGB", sheet.size, PAPER)
    for left, top, part in sheet.images:
        image.paste(part, (left, top))
    draw = ImageDraw.Draw(image)
    for one in sheet.labels:
        draw.text((one.left, one.top), one.text, fill=one.ink, font=one.font)
    return image


def svg(attention: AttentionMaps) -> bytes:
    """Return the panels as SVG, whose words are text."""
    sheet = sheet_of(attention)
    width, height = sheet.size
    parts = [
        f'<image x="{left}" y="{top}" width="{image.width}" height="{image.height}" '
        f'href="{data_url(image, "PNG", optimize=True)}"/>'
        for left, top, image in sheet.images
    ]
    for left, top, text, letters, ink in sheet.labels:
        weight = "bold" if letters.getname()[1] == "Bold" else "normal"
        parts.append(
            f'<text x="{left:.1f}" y="{top + letters.getmetrics()[0]:.1f}" fill="{ink}" '
            f'font-size="{letters.size:g}" font-weight="{weight}" xml:space="preserve">'
            f"{escaped(printable(text))}</text>"  # XML has no control characters
        )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="DejaVu Sans, sans-serif">\n'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>\n'
    )
    return (head + "\n".join(parts) + "\n</svg>\n").encode()


def sheet_of(attention: AttentionMaps) -> Sheet:
    """Return the caption, the image, a panel for each word, the read mode, and the scale.

    Source: Xu et al. 2015, Figures 2 and 3.
    """
    count = len(attention.words) + 1
    columns = min(COLUMNS, key=lambda columns: -count % columns)
    columns = max(3, min(columns, count))  # room for the title
    rows = math.ceil(count / columns)
    width = GAP + columns * (PANEL_SIDE + GAP)
    title = wrapped(attention.caption, width - 2 * GAP, TITLE)
    labels = [
        Label(GAP, GAP + LINE * number - 4, line, font(TITLE)) for number, line in enumerate(title)
    ]
    head = GAP + LINE * len(title) + GAP // 2
    images = [(GAP, head, attention.image.resize((PANEL_SIDE, PANEL_SIDE)))]
    for word in range(count - 1):
        row, column = divmod(word + 1, columns)
        left, top = GAP + column * (PANEL_SIDE + GAP), head + row * (PANEL_SIDE + LEGEND)
        images.append((left, top, highlighted(attention, word, PANEL_SIDE)))
        labels += _below_panel(attention, word, left, top + PANEL_SIDE)
    foot = head + rows * (PANEL_SIDE + LEGEND) + 6
    note = f"{Path(attention.name).name}   {explained(attention)}"
    labels.append(Label(GAP, foot, note, fitted_font(note, width - 2 * GAP, NOTE), PALE))
    low, high, top = "weight 0", "largest of the word", foot + 22
    left = round(GAP + font(NOTE).getlength(low) + 6)
    after = left + len(SHARES) * CELL + 6
    labels += [Label(GAP, top, low, font(NOTE), PALE), Label(after, top, high, font(NOTE), PALE)]
    return Sheet((width, foot - 6 + PANEL_FOOT), [*images, (left, top, scale())], labels)


def _below_panel(attention: AttentionMaps, word: int, left: int, top: int) -> Iterator[Label]:
    """Yield a word and its figures, in the middle below its panel."""
    text, figures = attention.words[word], attention.figures(word)
    for line, letters, ink, below in (
        (text, fitted_font(text, PANEL_SIDE, 17, bold=True), INK, 3),
        (figures, font(NOTE), PALE, 25),
    ):
        middle = left + (PANEL_SIDE - letters.getlength(line)) / 2
        yield Label(middle, top + below, line, letters, ink)


def scale() -> Image.Image:
    """Return the brightness of a white image by weight, from 0 to the largest of the word."""
    image = Image.new("RGB", (CELL * len(SHARES) + 1, CELL + 1))
    draw = ImageDraw.Draw(image)
    for n, share in enumerate(SHARES):
        grey = round(255 * (DARK + (1 - DARK) * share))
        box = (CELL * n, 0, CELL * (n + 1), CELL)
        draw.rectangle(box, fill=(grey, grey, grey), outline=PALE)
    return image


@cache
def font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    """Return DejaVu Sans, which has the letters of most alphabets."""
    import matplotlib

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(str(Path(matplotlib.get_data_path(), "fonts", "ttf", name)), size)


def fitted_font(
    text: str, width: float, size: int, *, bold: bool = False
) -> ImageFont.FreeTypeFont:
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


SIDE = 384  # pixels of an image on the page
MAP_SIDE = 96  # pixels of a map; the browser enlarges it
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem; background: #fff; color: #1a1a1a }
main { display: flex; flex-wrap: wrap; gap: 2rem; align-items: flex-start }
figure { position: relative; width: 384px; margin: 0 }
figure img { display: block; width: 384px; height: 384px }
figcaption { padding-top: .5rem }
.words { font-size: 1.15rem }
.word { cursor: pointer; border-radius: 3px; padding: 0 .12em }
.word:hover, .word:focus { background: #c2410c; color: #fff; outline: 0 }
.word img, .word small { display: none; position: absolute; pointer-events: none }
.word img { left: 0; top: 0 }
.word small { right: 0; top: 384px; transform: translateY(-100%); padding: 0 .4em }
.word small { color: #fff; background: #c2410c }
.word:hover img, .word:focus img, .word:hover small, .word:focus small { display: block }
.name, .others, .fault { color: #6a6a6a; font-size: .85rem; overflow-wrap: anywhere }
.fault { color: #b91c1c }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #eee } }
"""
HEAD = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Captions</title>
<style>{STYLE}</style>
<main>
"""
FOOT = "</main>\n</html>\n"


def html_page(attention: AttentionMaps) -> bytes:
    """Return the page of one image: pointing at a word shows its map. It has no script."""
    return f"{HEAD}{figure(attention)}{FOOT}".encode("utf-8", "replace")


def figure(attention: AttentionMaps, others: Sequence[tuple[str, float]] = ()) -> str:
    """Return the HTML of one image and its caption, whose words show their maps.

    others: the texts and scores of further captions.
    """
    words = " ".join(_word(attention, number) for number in range(len(attention.words)))
    rest = "".join(f"<br>{escaped(text)} <i>{score:.4f}</i>" for text, score in others)
    others_said = f'<div class="others">{rest.removeprefix("<br>")}</div>\n' if rest else ""
    image = data_url(attention.image.resize((SIDE, SIDE)), "JPEG", quality=85)
    return (
        f'<figure><img src="{image}" alt="{escaped(attention.caption)}">\n'
        f'<figcaption><div class="words">{words}</div>\n{others_said}'
        f'<div class="name">{escaped(attention.name)}<br>{escaped(explained(attention))}</div>'
        "</figcaption></figure>\n"
    )


def fault(name: str, note: str) -> str:
    """Return the HTML that replaces an image without a caption."""
    said = f'<div class="fault">{escaped(note)}</div>'
    return f'<figure><div class="name">{escaped(name)}</div>{said}</figure>\n'


def _word(attention: AttentionMaps, word: int) -> str:
    shade = f'<img src="{_shade(attention, word)}" alt="">'
    figures = f"<small>{attention.figures(word)}</small>"
    return (
        f'<span class="word" tabindex="0">{escaped(attention.words[word])}{shade}{figures}</span>'
    )


def _shade(attention: AttentionMaps, word: int) -> str:
    """Return a black PNG as a data URL, opaque where the word has no attention."""
    away = (1 - smooth(attention.drawn(word), MAP_SIDE)) * (1 - DARK)
    opacity = (255 * (1 - attention.faded(word)) * away).round().astype(np.uint8)
    shade = Image.merge("LA", [Image.new("L", opacity.shape[::-1]), Image.fromarray(opacity)])
    return data_url(shade, "PNG", optimize=True)


def data_url(image: Any, kind: str, **options: Any) -> str:
    """Return an image as a data URL. kind: of its file, with Pillow's options to save it."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def escaped(text: str) -> str:
    """Return a text as HTML; characters that UTF-8 lacks become question marks."""
    return html.escape(text.encode("utf-8", "replace").decode())


WRITERS: dict[str, Callable[[AttentionMaps], bytes]] = {
    ".png": png,
    ".svg": svg,
    ".html": html_page,
    ".npz": npz,
}


def writer_of(path: Path, writers: Mapping[str, Any] = WRITERS) -> Any:
    """Return the writer for a file name's suffix; a ModelError if the suffix is unknown."""
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise ModelError(f"--picture {path}", f"a name ending in {', '.join(writers)}, or a folder")
    return writer


SHADES = " ░▒▓█"
WIDEST, NARROWEST, COLUMN_GAP = 32, 12, 2  # columns of a panel, and between panels
RESET = "\x1b[0m"


def maps_as_text(attention: AttentionMaps, screen: Screen) -> str:
    """Return the panels as lines; word and figures are below each panel."""
    across = max(1, (screen.width + COLUMN_GAP) // (24 + COLUMN_GAP))
    columns = (screen.width + COLUMN_GAP) // across - COLUMN_GAP
    columns = max(min(columns, WIDEST), min(NARROWEST, screen.width))
    panels = list(_panels(attention, columns, screen))
    lines = []
    for start in range(0, len(panels), across):
        rows = zip(*panels[start : start + across], strict=True)
        lines += [(" " * COLUMN_GAP).join(row).rstrip(" ") for row in rows]
    gate = "" if attention.gates is None else "β gate, "
    lines.append(f"{gate}{entropy_name(attention)} in nats; {described(attention)}")
    return "".join(f"{line}\n" for line in lines)


def _panels(attention: AttentionMaps, columns: int, screen: Screen) -> Iterator[list[str]]:
    if screen.colours:
        image = attention.image.resize((columns, columns))
        yield [*_blocks(np.asarray(image), screen), " " * columns, " " * columns]
    for word, text in enumerate(attention.words):
        if screen.colours:
            drawn = _blocks(np.asarray(highlighted(attention, word, columns)), screen)
        else:  # a character is twice as high as it is wide
            levels = smooth(attention.drawn(word), columns)[: columns // 2 * 2 : 2]
            levels *= 1 - attention.faded(word)
            rows = (levels * (len(SHADES) - 1)).round().astype(int)
            drawn = ["".join(SHADES[level] for level in row) for row in rows]
        texts = (text, attention.figures(word))
        yield [*drawn, *(padded(fitted(text, columns), columns) for text in texts)]


def _blocks(pixels: NDArray[np.uint8], screen: Screen) -> list[str]:
    """Return pixels (2 N, columns, 3) as N lines."""
    lines = []
    for upper, lower in zip(pixels[::2], pixels[1::2], strict=False):
        cells = (
            f"\x1b[{colour_code(one, screen, LETTER)};{colour_code(two, screen, GROUND)}m▀"
            for one, two in zip(upper, lower, strict=True)
        )
        lines.append("".join(cells) + RESET)
    return lines
