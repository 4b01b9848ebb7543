"""Pictures of where a captioner looked: one writer for each kind of file, chosen by its suffix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attncli.render.image_attention.arrays import npz
from attncli.render.image_attention.film import gif
from attncli.render.image_attention.maps import AttentionMaps
from attncli.render.image_attention.page import html_page
from attncli.render.image_attention.panels import png
from models.errors import ModelError

WRITERS: dict[str, Callable[[AttentionMaps], bytes]] = {
    ".png": png,
    ".gif": gif,
    ".html": html_page,
    ".npz": npz,
}


def writer_of(path: Path) -> Callable[[AttentionMaps], bytes]:
    """What makes the content of a file of that name; a ModelError if its suffix is not known."""
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise ModelError(
            f"--attention {path}", f"a name ending in {', '.join(WRITERS)}, or a folder"
        )
    return writer
