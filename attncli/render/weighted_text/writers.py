"""Table of the pictures of coloured words; names, suffixes and limits are those of alignments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from attncli.data.weighted_text import WeightedText
from attncli.render.weighted_text.html import html
from attncli.render.weighted_text.svg import svg


def _png(texts: Sequence[WeightedText], kind: str) -> bytes:
    from attncli.render.weighted_text.png import png

    return png(texts, kind=kind)


WRITERS: dict[str, Callable[[Sequence[WeightedText]], bytes]] = {
    "svg": svg,
    "html": html,
    "png": partial(_png, kind="png"),
    "pdf": partial(_png, kind="pdf"),
}


def written(texts: Sequence[WeightedText], name: str) -> bytes:
    """Return a picture of texts in a format of WRITERS."""
    return WRITERS[name](texts)
