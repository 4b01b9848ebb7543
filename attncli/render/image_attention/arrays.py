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
        "maps": attention.maps,
        "entropy": attention.entropy,
        "name": np.array(attention.name),
        "read": np.array(attention.read),
    }
    optional = {"gates": attention.gates, "copied": attention.copied}
    arrays |= {name: values for name, values in optional.items() if values is not None}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()
