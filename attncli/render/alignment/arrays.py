"""Alignments as NumPy arrays: one .npz for all pairs, read with `numpy.load`, nothing pickled.

For pair n, from 1: `source_n` and `target_n` (units), `weights_n` (J, I), `links_n` (N, 2),
`score_n`, and `heads_n` (L, H, J, I) if every head was requested.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from attncli.data.panels import AlignedPair


def npz(pairs: Sequence[AlignedPair]) -> bytes:
    """Return all pairs as one .npz file."""
    import numpy

    arrays: dict[str, Any] = {}
    for pair in pairs:
        panel = pair.panels[0]
        found = {
            "source": numpy.array(pair.source, dtype=str),
            "target": numpy.array(pair.target, dtype=str),
            "weights": panel.weights,
            "links": numpy.array(sorted(panel.links), dtype=numpy.int64).reshape(-1, 2),
            "score": pair.score,
            "heads": panel.heads,
        }
        arrays |= {
            f"{name}_{pair.number}": numpy.asarray(value)
            for name, value in found.items()
            if value is not None
        }
    buffer = io.BytesIO()
    numpy.savez_compressed(buffer, **arrays)
    return buffer.getvalue()
