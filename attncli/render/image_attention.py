"""Maps of attention over an image."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from PIL import Image

from attncli.render.image_maps import (
    DARK,
    AttentionMaps,
    described,
    entropy_name,
    explained,
    fitting,
    highlighted,
    npz,
    smooth,
)
from attncli.render.page import STYLE, data_url, escaped
from attncli.terminal.messages import GROUND, LETTER, Screen, colour_code, fitted, padded
from models.core.errors import ModelError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


W = TypeVar("W")  # function that writes a picture
PANEL_SIDE, PANEL, BELOW = 224, 1.7, 0.5  # of a panel: pixels, inches, inches of its texts
COLUMNS = (6, 5, 4)  # allowed numbers; the one that leaves the fewest empty places is used
SHARES = (0, 0.25, 0.5, 0.75, 1)  # of the cells of the scale
SIDE = 384  # pixels of the longer side of an image on the page
MAP_SIDE = 96  # pixels of the longer side of a map; the browser enlarges it
SHADES = " ░▒▓█"
WIDEST, NARROWEST, COLUMN_GAP = 32, 12, 2  # columns of a panel, and between panels
RESET = "\x1b[0m"


def draw_maps(attention: AttentionMaps, *, kind: str = "png") -> bytes:
    """Draw the image and a panel for each word; below them the read mode and a scale.

    kind: svg, png or pdf. Source: Xu et al. 2015, Figures 2 and 3.
    """
    import matplotlib
    from matplotlib.figure import Figure

    from attncli.render.figures import fonts, label_of, saved

    count = len(attention.words) + 1
    columns = max(3, min(min(COLUMNS, key=lambda columns: -count % columns), count))
    rows, panel = math.ceil(count / columns), fitting(attention.image, PANEL_SIDE)
    high = PANEL * panel[1] / PANEL_SIDE
    line = round(14 * columns * PANEL)  # letters
    with matplotlib.rc_context({"font.family": fonts(), "font.size": 8}):
        size = columns * PANEL, rows * (high + BELOW) + 1
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for number, axes in enumerate(panels):
            axes.set(xticks=[], yticks=[])
            axes.set_frame_on(False)
            if 0 < number < count:
                word = number - 1
                axes.imshow(highlighted(attention, word, panel))
                axes.set_title(label_of(attention.words[word]), weight="bold")
                axes.set_xlabel(label_of(attention.figures(word)))
        panels[0].imshow(attention.image.resize(panel))
        figure.suptitle(textwrap.fill(label_of(attention.caption), line), fontsize="large")
        note = label_of(f"{Path(attention.name).name}   {explained(attention)}")
        _scale(figure, textwrap.fill(note, line))
        return saved(figure, kind)


def _scale(figure: Figure, note: str) -> None:
    """Draw the brightness of a white image by weight, from 0 to the largest of the word."""
    from matplotlib.patches import Patch

    greys = [str(DARK + (1 - DARK) * share) for share in SHARES]
    patches = [Patch(facecolor=grey, edgecolor="#6a6a6a") for grey in greys]
    labels = ["weight 0", *[""] * (len(SHARES) - 2), "largest of the word"]
    figure.legend(
        patches, labels, loc="outside lower center", ncols=len(SHARES), title=note, frameon=False
    )


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
    image = data_url(attention.image.resize(fitting(attention.image, SIDE)), "JPEG", quality=85)
    return (
        f'<figure><img src="{image}" {_size(attention)} alt="{escaped(attention.caption)}">\n'
        f'<figcaption><div class="words">{words}</div>\n{others_said}'
        f'<div class="name">{escaped(attention.name)}<br>{escaped(explained(attention))}</div>'
        "</figcaption></figure>\n"
    )


def fault(name: str, note: str) -> str:
    """Return the HTML that replaces an image without a caption."""
    said = f'<div class="fault">{escaped(note)}</div>'
    return f'<figure><div class="name">{escaped(name)}</div>{said}</figure>\n'


def _word(attention: AttentionMaps, word: int) -> str:
    shade = f'<img src="{_shade(attention, word)}" {_size(attention)} alt="">'
    figures = f"<small>{attention.figures(word)}</small>"
    return (
        f'<span class="word" tabindex="0">{escaped(attention.words[word])}{shade}{figures}</span>'
    )


def _size(attention: AttentionMaps) -> str:
    """Return the attributes of the size of an image on the page."""
    return 'width="{}" height="{}"'.format(*fitting(attention.image, SIDE))


def _shade(attention: AttentionMaps, word: int) -> str:
    """Return a black PNG as a data URL, opaque where the word has no attention."""
    away = (1 - smooth(attention.drawn(word), fitting(attention.image, MAP_SIDE))) * (1 - DARK)
    opacity = (255 * (1 - attention.faded(word)) * away).round().astype(np.uint8)
    shade = Image.merge("LA", [Image.new("L", opacity.shape[::-1]), Image.fromarray(opacity)])
    return data_url(shade, "PNG", optimize=True)


WRITERS: dict[str, Callable[[AttentionMaps], bytes]] = {
    **{f".{kind}": partial(draw_maps, kind=kind) for kind in ("png", "svg", "pdf")},
    ".html": html_page,
    ".npz": npz,
}


def writer_of(path: Path, writers: Mapping[str, W]) -> W:
    """Return the writer for a file name's suffix; a ModelError if the suffix is unknown."""
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise ModelError(f"--picture {path}", f"a name ending in {', '.join(writers)}, or a folder")
    return writer


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
    ratio = attention.image.height / attention.image.width
    size = columns, max(2, round(columns * ratio / 2) * 2)  # a character is twice as high as wide
    if screen.colours:
        image = attention.image.resize(size)
        yield [*_blocks(np.asarray(image), screen), " " * columns, " " * columns]
    for word, text in enumerate(attention.words):
        if screen.colours:
            drawn = _blocks(np.asarray(highlighted(attention, word, size)), screen)
        else:
            levels = smooth(attention.drawn(word), size)[::2]
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
