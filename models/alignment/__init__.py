"""Word alignment from attention weights: links between the units of a source and its translation.

from models import load
from models.alignment import align
align(load("runs/en-de"), [("A dog runs.", "Ein Hund läuft.")])[0].links
"""

from models.alignment.align import (
    Alignment,
    align,
    align_translation,
    align_translations,
    head_weights,
    translation_head_weights,
)
from models.alignment.joint_hmm import agreed_links
from models.alignment.links import Links
from models.alignment.score import GoldLinks, diagonal, error_rate
from models.alignment.symmetrise import symmetrise
from models.alignment.tune import Agreement, Trial, agree, mutual_trials, trials, tune
from models.base.types import Link
from models.config.tables import AlignConfig

__all__ = [
    "Agreement",
    "AlignConfig",
    "Alignment",
    "GoldLinks",
    "Link",
    "Links",
    "Trial",
    "agree",
    "agreed_links",
    "align",
    "align_translation",
    "align_translations",
    "mutual_trials",
    "diagonal",
    "error_rate",
    "head_weights",
    "symmetrise",
    "translation_head_weights",
    "trials",
    "tune",
]
