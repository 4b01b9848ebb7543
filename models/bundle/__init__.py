"""A bundle: a folder with everything needed to use a model. Nothing in it is unpickled.

config.json          format number, model, tokenizer and search settings, vocabulary sizes, and
                     the alignment settings once they are tuned
model.safetensors    weights, each shared matrix once
tokenizer.model      SentencePiece; source.model and target.model if separate
labels.txt           labels of a classifier, one a line
statistical.safetensors   hidden Markov models of word alignment, of `attn align train`
shortlist.safetensors   target tokens for each source token, of `attn models shortlist`
card.md              model card

The names below are imported on first use, so that listing bundles imports no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from models.bundle.store import Bundle, build, read, save, sizes_of
    from models.storage.settings import FORMAT, read_settings, task_of, write_alignment
    from models.storage.weights import fill_from, load_weights, stored_tensors, weights_of

__all__ = [
    "FORMAT",
    "Bundle",
    "build",
    "fill_from",
    "load_weights",
    "read",
    "read_settings",
    "save",
    "sizes_of",
    "stored_tensors",
    "task_of",
    "weights_of",
    "write_alignment",
]

PARTS = {
    "models.storage.settings": ("FORMAT", "read_settings", "task_of", "write_alignment"),
    "models.bundle.store": ("Bundle", "build", "read", "save", "sizes_of"),
    "models.storage.weights": ("fill_from", "load_weights", "stored_tensors", "weights_of"),
}


def __getattr__(name: str) -> Any:
    """Import a name from the module that defines it."""
    for module, names in PARTS.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'models.bundle' has no attribute '{name}'")
