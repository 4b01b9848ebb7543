"""The numbers themselves, for numpy: ``numpy.load(file)`` needs no pickle.

picture (side, side, 3) uint8; words (W,); maps (W, rows, columns); entropy (W,) in nats; gates (W,)
where the model has them; name and read, texts.
"""

from __future__ import annotations

import io

import numpy as np

from attncli.render.image_attention.look import Look


def npz(look: Look) -> bytes:
    """A compressed archive of arrays."""
    arrays = {
        "picture": np.asarray(look.picture, np.uint8),
        "words": np.array(look.words, dtype=np.str_),
        "maps": look.maps.astype(np.float32),
        "entropy": look.entropy.astype(np.float32),
        "name": np.array(look.name),
        "read": np.array(look.read),
    }
    if look.gates is not None:
        arrays["gates"] = look.gates.astype(np.float32)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()
