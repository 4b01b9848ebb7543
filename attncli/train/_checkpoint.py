"""The file of a checkpoint: safetensors with digests of their tensors and of their metadata.

The digests are part of a file, so that both are replaced at once:

    {"attn": "SHA-256 of what follows, {"tensors_sha256": "...", other metadata}"}

One entry holds all metadata, because the library writes several in a random order.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from models.core.errors import intact

if TYPE_CHECKING:
    from torch import Tensor

ENTRY, TENSORS = "attn", "tensors_sha256"

Metadata = dict[str, str]


def to_bytes(tensors: dict[str, Tensor], metadata: Metadata | None = None) -> bytes:
    """Return the content of a file with these tensors and metadata, and their digests."""
    from safetensors.torch import save

    contiguous = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    text = json.dumps({**(metadata or {}), TENSORS: digest(contiguous)})
    return save(contiguous, metadata={ENTRY: f"{hashlib.sha256(text.encode()).hexdigest()} {text}"})


def read_tensors(path: Path) -> tuple[dict[str, Tensor], Metadata]:
    """Return the tensors and metadata of a file.

    Raises DamagedError if the file cannot be read or differs from its digests.
    """
    with intact_file(path):
        with safe_open(path, framework="pt") as file:
            metadata = _checked(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if metadata[TENSORS] != digest(tensors):
            raise ValueError("its tensors differ from their digest")
    return tensors, metadata


def read_metadata(path: Path) -> Metadata:
    """Return the metadata of a file without reading the tensors; see `read_tensors`.

    Imports no torch.
    """
    with intact_file(path), safe_open(path, framework="numpy") as file:
        return _checked(file.metadata() or {})


def intact_file(path: Path) -> AbstractContextManager[None]:
    """Return a context that raises DamagedError if it cannot read a file of a run."""
    hint = "choose another -o; --start-from starts from the weights of this run"
    return intact(path, "a file written by `attn train`", hint, SafetensorError, RuntimeError)


def digest(tensors: dict[str, Tensor]) -> str:
    """Return the SHA-256 of the names, types, shapes and bytes of some tensors."""
    import torch

    found = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        found.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        flat: Any = tensor.cpu().contiguous().reshape(-1)
        found.update(memoryview(flat.view(torch.uint8).numpy()))
    return found.hexdigest()


def _checked(entries: Metadata) -> Metadata:
    """Return the metadata of a file; raise ValueError if they differ from their digest."""
    expected, _, text = entries[ENTRY].partition(" ")
    # an entry beside the one of all metadata would have no digest
    if len(entries) > 1 or expected != hashlib.sha256(text.encode()).hexdigest():
        raise ValueError("its metadata differ from their digest")
    return json.loads(text)
