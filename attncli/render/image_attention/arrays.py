"""Attention maps as NumPy arrays: an .npz file for ``numpy.load``, without pickled objects.

image (side, side, 3) uint8; words (W,); maps (W, rows, columns); entropy (W,) in nats; gates (W,)
and copied (W,), the share of each word that was copied from a label, if the model has them; name
and read, texts.
"""

from __future__ import annotations

import io

import numpy as np

from attncli.render.image_attention.maps import AttentionMaps


def npz(attention: AttentionMaps) -> bytes:
    """Return a compressed archive of the arrays."""
    arrays = {
        "image": np.asarray(attention.image, np.uint8),
        "words": np.array(attention.words, dtype=np.str_),
        "maps": attention.maps.astype(np.float32),
        "entropy": attention.entropy.astype(np.float32),
        "name": np.array(attention.name),
        "read": np.array(attention.read),
    }
    if attention.gates is not None:
        arrays["gates"] = attention.gates.astype(np.float32)
    if attention.copied is not None:
        arrays["copied"] = attention.copied.astype(np.float32)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()
