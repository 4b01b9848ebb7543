"""Parts of HTML pages with attention maps: their style, texts, and images as data."""

from __future__ import annotations

import base64
import html
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem; background: #fff; color: #1a1a1a }
main { display: flex; flex-wrap: wrap; gap: 2rem; align-items: flex-start }
figure { position: relative; width: 384px; margin: 0 }
figure img { display: block }
figcaption { padding-top: .5rem }
.words { font-size: 1.15rem }
.word { cursor: pointer; border-radius: 3px; padding: 0 .12em }
.word:hover, .word:focus { background: #c2410c; color: #fff; outline: 0 }
.word img, .word small { display: none; position: absolute; pointer-events: none }
.word img { left: 0; top: 0 }
.word small { left: 0; top: 0; padding: 0 .4em; color: #fff; background: #c2410c }
.word:hover img, .word:focus img, .word:hover small, .word:focus small { display: block }
.name, .others, .fault { color: #6a6a6a; font-size: .85rem; overflow-wrap: anywhere }
.fault { color: #b91c1c }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #eee } }
"""


def data_url(image: Image.Image, kind: str, **options: object) -> str:
    """Return an image as a data URL. kind: of its file, with Pillow's options to save it."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def escaped(text: str) -> str:
    """Return a text as HTML; characters that UTF-8 lacks become question marks."""
    return html.escape(text.encode("utf-8", "replace").decode())
