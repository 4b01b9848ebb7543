"""Attention maps as one HTML file: pointing at a word shows its map.

Each word contains its map as a small PNG that darkens cells with little attention. It covers the
image while the word is pointed at, touched or selected by the Tab key. The page has no script and
loads nothing.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from attncli.render.image_attention.maps import DARK, AttentionMaps, smooth
from attncli.render.image_attention.panels import explained

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
    """Return the page of one image."""
    return f"{HEAD}{figure(attention)}{FOOT}".encode("utf-8", "replace")


def figure(attention: AttentionMaps, others: Sequence[tuple[str, float]] = ()) -> str:
    """Return the HTML of one image and its caption, whose words show their maps.

    others: the texts and scores of further captions.
    """
    words = " ".join(_word(attention, number) for number in range(len(attention.words)))
    rest = "".join(f"<br>{escaped(text)} <i>{score:.4f}</i>" for text, score in others)
    others_said = f'<div class="others">{rest.removeprefix("<br>")}</div>\n' if rest else ""
    image = jpeg_url(attention.image.resize((SIDE, SIDE)), 85)
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
    away = (1 - smooth(attention.maps[word], MAP_SIDE)) * (1 - DARK)
    opacity = (255 * away).round().astype(np.uint8)
    shade = Image.merge("LA", [Image.new("L", opacity.shape[::-1]), Image.fromarray(opacity)])
    buffer = io.BytesIO()
    shade.save(buffer, "PNG", optimize=True)
    return _url("image/png", buffer)


def jpeg_url(image: Any, quality: int) -> str:
    """Return an image as a data URL of a JPEG file."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return _url("image/jpeg", buffer)


def _url(kind: str, buffer: io.BytesIO) -> str:
    return f"data:{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def escaped(text: str) -> str:
    """Return a text as HTML; characters that UTF-8 lacks become question marks."""
    return html.escape(text.encode("utf-8", "replace").decode())
