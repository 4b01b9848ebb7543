"""Word alignment from attention weights: links between the units of a source and its translation.

from models import load
from models.alignment import align
align(load("runs/en-de"), [("A dog runs.", "Ein Hund läuft.")])[0].links
"""

from models.alignment._links import Links, diagonal, symmetrise
from models.alignment.align import align, align_translations, choose_head, head_weights
from models.alignment.weights import TokenAttention, token_attention
from models.core.types import Link
from models.core.use_config import AlignConfig
from models.text.alignment import Alignment

__all__ = [
    "AlignConfig",
    "Alignment",
    "Link",
    "Links",
    "TokenAttention",
    "align",
    "align_translations",
    "choose_head",
    "diagonal",
    "head_weights",
    "symmetrise",
    "token_attention",
]
