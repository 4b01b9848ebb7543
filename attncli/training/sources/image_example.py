"""A command line that captions an image of a run's training data."""

from __future__ import annotations

import shlex
from pathlib import Path

from attncli.data.image_index import open_images
from attncli.data.named_images import SUFFIXES
from attncli.training.config import DataConfig


def example(data: DataConfig, folder: Path) -> str:
    """Return `attn caption IMAGE`; IMAGE is a file, or a member of a TAR file.

    folder: of the run, where generated scenes are.
    """
    images = Path(data.images or folder / "images.tar")
    names = sorted(name for name in open_images(images).places if name.lower().endswith(SUFFIXES))
    image = images / names[0] if names else Path("IMAGE")
    return f"attn caption {shlex.quote(str(image))}"
