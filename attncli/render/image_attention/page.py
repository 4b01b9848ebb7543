"""One HTML file that needs no other: point at a word and see where the model looked.

Each word holds its map as a small PNG that darkens what was not looked at, laid over the picture
while the word is pointed at, touched or reached by the Tab key. No script runs; nothing is loaded.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attncli.render.image_attention.maps import DARK, AttentionMaps, smooth
from attncli.render.image_attention.panels import explained

SIDE = 384  # of a picture on the page, at most
MAP_SIDE = 96  # of a map; the browser smooths the rest
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


class Other(NamedTuple):
    """A caption that was not the best."""

    text: str
    score: float


def html_page(attention: AttentionMaps) -> bytes:
    """The page of one picture."""
    return f"{HEAD}{figure(attention)}{FOOT}".encode("utf-8", "replace")


def figure(attention: AttentionMaps, others: Sequence[Other] = ()) -> str:
    """One picture of a page and its caption, whose words show their maps."""
    words = " ".join(_word(attention, number) for number in range(len(attention.words)))
    rest = "".join(f"<br>{_text(text)} <i>{score:.4f}</i>" for text, score in others)
    others_said = f'<div class="others">{rest.removeprefix("<br>")}</div>\n' if rest else ""
    return (
        f'<figure><img src="{_jpeg(attention)}" alt="{_text(attention.caption)}">\n'
        f'<figcaption><div class="words">{words}</div>\n{others_said}'
        f'<div class="name">{_text(attention.name)}<br>{_text(explained(attention))}</div>'
        "</figcaption></figure>\n"
    )


def fault(name: str, note: str) -> str:
    """What stands in the place of a picture that has no caption."""
    said = f'<div class="fault">{_text(note)}</div>'
    return f'<figure><div class="name">{_text(name)}</div>{said}</figure>\n'


def _word(attention: AttentionMaps, word: int) -> str:
    shade = f'<img src="{_shade(attention, word)}" alt="">'
    figures = f"<small>{attention.figures(word)}</small>"
    return f'<span class="word" tabindex="0">{_text(attention.words[word])}{shade}{figures}</span>'


def _shade(attention: AttentionMaps, word: int) -> str:
    """Black, and opaque where the word did not look, as a PNG in a URL."""
    from PIL import Image

    away = (1 - smooth(attention.maps[word], MAP_SIDE)) * (1 - DARK)
    opacity = (255 * away).round().astype(np.uint8)
    shade = Image.merge("LA", [Image.new("L", opacity.shape[::-1]), Image.fromarray(opacity)])
    buffer = io.BytesIO()
    shade.save(buffer, "PNG", optimize=True)
    return _url("image/png", buffer)


def _jpeg(attention: AttentionMaps) -> str:
    buffer = io.BytesIO()
    attention.picture.resize((SIDE, SIDE)).save(buffer, "JPEG", quality=85)
    return _url("image/jpeg", buffer)


def _url(kind: str, buffer: io.BytesIO) -> str:
    return f"data:{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _text(text: str) -> str:
    return html.escape(text.encode("utf-8", "replace").decode())
