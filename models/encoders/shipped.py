"""The image network inside the shipped captioner: the start of a new captioner."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from models.base.errors import NotFoundError
from models.catalogue.installed import BOX, DEFAULTS, is_bundle
from models.sources.image import ImageSource
from models.storage.digests import check_digests
from models.storage.settings import WEIGHTS
from models.storage.weights import read_tensors

PREFIX = ImageSource.shared_weights  # of the names of an image network's weights in a bundle


def shipped_captioner() -> Path:
    """Return the folder of the shipped captioner; raise NotFoundError if it is missing."""
    folder = BOX / DEFAULTS["caption"]
    if not is_bundle(folder):
        raise NotFoundError(
            f"no weights of the image network, because {folder} is missing",
            "the model that is shipped with attn",
            "give a file with -s model.image.weights=PATH",
        )
    return folder


def shipped_tensors(prefix: str) -> dict[str, Tensor]:
    """Return the shipped captioner's fp32 weights of a name prefix, which is removed."""
    folder = shipped_captioner()
    found = read_tensors(folder / WEIGHTS, lambda name: name.startswith(prefix))
    check_digests(folder, [WEIGHTS])
    return {name.removeprefix(prefix): tensor for name, tensor in found.items()}
