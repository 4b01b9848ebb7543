"""Maps of attention over an image: their values, and how files and the terminal show them."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from PIL import Image

from attncli.render.page import STYLE, data_url, escaped
from attncli.terminal.messages import GROUND, LETTER, Screen, colour_code, fitted, padded
from models.core.errors import ModelError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from models.engines.captioner import ImageAttention


SHOWN = 0.5  # share of a word's probability from labels from which on it is named
DARK = 0.22  # share of the brightness where the map is 0
FADED = 0.6  # share of white in the map of a word that names nothing
_FUNCTION_WORDS = (
    "a an the this that these those some several many few two three another other its his her "
    "their of in on at by to from with without for into onto over under above below near next "
    "beside behind between through across along around off out up down inside outside front back "
    "top side and or but while as is are was were be been being has have having do does it he she "
    "they them there which who what where when one each all both no not very"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
W = TypeVar("W")  # function that writes a picture
PANEL_SIDE, PANEL, BELOW = 224, 1.7, 0.5  # of a panel: pixels, inches, inches of its texts
COLUMNS = (6, 5, 4)  # allowed numbers; the one that leaves the fewest empty places is used
SHARES = (0, 0.25, 0.5, 0.75, 1)  # of the cells of the scale
SIDE = 384  # pixels of the longer side of an image on the page
MAP_SIDE = 96  # pixels of the longer side of a map; the browser enlarges it
SHADES = " ░▒▓█"
WIDEST, NARROWEST, COLUMN_GAP = 32, 12, 2  # columns of a panel, and between panels
RESET = "\x1b[0m"
HEAD = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Captions</title>
<style>{STYLE}</style>
<main>
"""
FOOT = "</main>\n</html>\n"


class AttentionMaps(NamedTuple):
    """An image, the words of its caption, and the attention map of each word."""

    name: str  # of the image
    image: Image.Image  # RGB, what the model reads of the photo, in its own shape
    words: tuple[str, ...]
    maps: NDArray[np.float32]  # (W, rows, columns)
    gates: NDArray[np.float32] | None  # (W,) beta: share of the context that the decoder used
    entropy: NDArray[np.float32]  # (W,) in nats
    read: str  # soft, hard argmax, hard sample or hard expected
    copied: NDArray[np.float32] | None = None  # (W,) share of the probability from labels
    hard: bool = False  # True: pictures show only the cell of the largest weight
    place: str = ""  # layer and head, where they were chosen
    model: str = ""  # its name, where the picture names it
    text: str = ""  # the caption, if the words of the panels are others

    def drawn(self, word: int) -> NDArray[np.float32]:
        """Return the map (rows, columns) of a word as it is drawn."""
        weights = self.maps[word]
        if not self.hard:
            return weights
        one = np.zeros_like(weights)
        one.flat[weights.argmax()] = 1
        return one

    def faded(self, word: int) -> float:
        """Return the share of white in the map of a word; 0 for a content word."""
        return 0.0 if is_content_word(self.words[word]) else FADED

    @property
    def caption(self) -> str:
        """Return the caption: the words as one line, unless it is given."""
        return self.text or " ".join(self.words)

    def figures(self, word: int) -> str:
        """Return gate, entropy and copied share of a word as text."""
        gate = "" if self.gates is None else f"β {self.gates[word]:.2f}  "
        share = 0.0 if self.copied is None else self.copied[word]
        label = f"  label {share:.0%}" if share >= SHOWN else ""
        return f"{gate}H {abs(self.entropy[word]):.2f}{label}"


def attention_maps(
    name: str, image: Image.Image, found: ImageAttention, *, hard: bool = True
) -> AttentionMaps:
    """Return the attention maps of a caption as arrays, with the image to draw them over.

    hard: True draws hard attention by argmax where the model reads the expectation.
    """
    return AttentionMaps(
        name=name,
        image=image,
        words=found.words,
        maps=found.maps.float().cpu().numpy(),
        gates=None if found.gates is None else found.gates.float().cpu().numpy(),
        entropy=found.entropy.float().cpu().numpy(),
        read=found.read,
        copied=None if found.copied is None else found.copied.float().cpu().numpy(),
        hard=hard and found.read == "hard expected",
        place=found.place,
    )


def fitting(image: Image.Image, side: int) -> tuple[int, int]:
    """Return width and height of an image whose longer side becomes `side`."""
    scale = side / max(image.size)
    return max(1, round(scale * image.width)), max(1, round(scale * image.height))


def smooth(weights: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.float32]:
    """Return a map (height, width), enlarged to a size (width, height), from 0 to 1."""
    image = Image.fromarray(np.ascontiguousarray(weights, np.float32))
    large = np.asarray(image.resize(size, Image.Resampling.BICUBIC)).clip(0)
    most = large.max()
    return large / most if most > 0 else large


def highlighted(attention: AttentionMaps, word: int, size: tuple[int, int]) -> Image.Image:
    """Return the image in a size (width, height), bright where the word has attention."""
    colours = np.asarray(attention.image.resize(size, Image.Resampling.LANCZOS), np.float32)
    grey = DARK * (colours @ np.array([0.299, 0.587, 0.114], np.float32))  # (height, width)
    share = smooth(attention.drawn(word), size)[..., None]  # (height, width, 1)
    mixed = share * colours + (1 - share) * grey[..., None]
    mixed += attention.faded(word) * (255 - mixed)
    return Image.fromarray(mixed.round().astype(np.uint8))


def mean_overlap(maps: NDArray[np.float32]) -> float:
    """Return the overlap of the words' maps, from 0 to 1 (all maps equal).

    It is 1 minus the mean total variation distance between a word's map and the mean map.
    """
    if not len(maps):
        return 0.0
    flat = maps.reshape(len(maps), -1)
    return float(1 - np.abs(flat - flat.mean(0)).sum(1).mean() / 2)


def npz(attention: AttentionMaps) -> bytes:
    """Return the arrays; see `archive`.

    image (side, side, 3) uint8; words (W,); maps (W, rows, columns); entropy (W,) in nats; gates
    (W,) and copied (W,), the share of each word that was copied from a label, if the model has
    them; name and read, texts.
    """
    arrays = {
        "image": np.asarray(attention.image, np.uint8),
        "words": np.array(attention.words, dtype=np.str_),
        "maps": attention.maps,
        "entropy": attention.entropy,
        "name": np.array(attention.name),
        "read": np.array(attention.read),
    }
    optional = {"gates": attention.gates, "copied": attention.copied}
    arrays |= {name: values for name, values in optional.items() if values is not None}
    return archive(arrays)


def archive(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return arrays as a compressed archive for ``numpy.load``, without pickled objects."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def described(attention: AttentionMaps) -> str:
    """Return the read mode, layer and head, and the cell that is drawn."""
    place = f" of {attention.place}" if attention.place else ""
    return f"{attention.read} attention{place}{', drawn by argmax' if attention.hard else ''}"


def explained(attention: AttentionMaps) -> str:
    """Return what the figures mean, the model, and the read mode."""
    gate = "" if attention.gates is None else "β gate: how much of it the model used;  "
    cells = math.log(max(1, attention.maps[0].size)) if len(attention.maps) else 0.0
    shown = ", ".join(filter(None, (attention.model, described(attention))))
    ends = f"0 one place, {cells:.2f} everywhere alike"
    said = "bright: where the model looks for a word, pale: the word names nothing;  "
    if attention.text:  # the panels are of several methods
        said = "bright: what the word depends on, by the method;  "
    return f"{said}{gate}{entropy_name(attention)}: {ends};  {shown}" if cells else shown


def entropy_name(attention: AttentionMaps) -> str:
    """Return what H is: also where one cell is drawn, it is of the weights that were read."""
    return f"H entropy{' of the expectation' if attention.hard else ''}"


def is_content_word(word: str) -> bool:
    """Return True for a word of a caption that names a thing, a quality or an action."""
    return any(map(str.isalpha, word)) and word.lower() not in FUNCTION_WORDS


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
