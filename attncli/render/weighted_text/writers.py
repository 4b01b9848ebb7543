"""Table of the pictures of coloured words; names, suffixes and limits are those of alignments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attncli.data.weighted_text import WeightedText
from attncli.render.weighted_text.html import html
from attncli.render.weighted_text.svg import svg


def _png(kind: str) -> Callable[[Sequence[WeightedText]], bytes]:
    def write(texts: Sequence[WeightedText]) -> bytes:
        from attncli.render.weighted_text.png import png

        return png(texts, kind=kind)

    return write


WRITERS: dict[str, Callable[[Sequence[WeightedText]], bytes]] = {
    "svg": svg,
    "html": html,
    "png": _png("png"),
    "pdf": _png("pdf"),
}


def written(texts: Sequence[WeightedText], name: str) -> bytes:
    """Return a picture of texts in a format of WRITERS."""
    return WRITERS[name](texts)


def trouble(texts: Sequence[WeightedText], name: str) -> str:
    """Return a warning about what a picture cannot show correctly; empty if there is none."""
    if name not in ("png", "pdf"):
        return ""
    from attncli.render.weighted_text import png

    return png.trouble(texts)
