"""Weights of MobileNet-EdgeTPU: in the shipped captioner, or in an npz file with 8 bits.

weight = (q - zero) scale
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy
import torch
from torch import Tensor

from models.base.errors import NotFoundError, intact
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


def read_classifier(path: Path) -> tuple[Tensor, Tensor]:
    """Return weight (LABELS, V) and bias of the classifier in an npz file, or in its folder."""
    stored = read_layers(path, ["logits"])
    return stored["logits.weight"].flatten(1), stored["logits.bias"]


def read_layers(path: Path, names: Iterable[str]) -> dict[str, Tensor]:
    """Return NAME.weight and NAME.bias of each named layer. path: the file, or its folder.

    Raises DamagedError if the file cannot be read or has no such layer.
    """
    path = next(iter(sorted(path.glob("*.npz"))), path)
    found: dict[str, Tensor] = {}
    expected = "weights of mobilenet-edgetpu: mobilenet_edgetpu_uint8.npz, or its folder"
    with (
        intact(path, expected, "", zipfile.BadZipFile),
        numpy.load(path, allow_pickle=False) as stored,
    ):
        for name in names:
            q, zero, scale, bias = (
                torch.from_numpy(stored[f"{name}.{part}"])
                for part in ("weight_q", "zero", "scale", "bias")
            )
            shape = -1, *[1] * (q.dim() - 1)
            found[f"{name}.weight"] = (q.float() - zero.float().view(shape)) * scale.view(shape)
            found[f"{name}.bias"] = bias
    return found
