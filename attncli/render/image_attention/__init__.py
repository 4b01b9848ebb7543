"""Files of attention maps over images: one writer per file format, selected by suffix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attncli.render.image_attention.maps import AttentionMaps, npz
from attncli.render.image_attention.page import html_page
from attncli.render.image_attention.panels import png
from models.base.errors import ModelError

WRITERS: dict[str, Callable[[AttentionMaps], bytes]] = {
    ".png": png,
    ".html": html_page,
    ".npz": npz,
}


def writer_of(path: Path) -> Callable[[AttentionMaps], bytes]:
    """Return the writer for a file name's suffix; a ModelError if the suffix is unknown."""
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise ModelError(f"--picture {path}", f"a name ending in {', '.join(WRITERS)}, or a folder")
    return writer
