"""Images as input."""

from __future__ import annotations

from models.base.types import VocabularySizes
from models.sources import Source


class ImageSource(Source):
    """Image: a grid of features, one slot per cell; there is no source vocabulary.

    Source: Xu et al. 2015.
    """

    task = "caption"
    ability = "captions images"
    runner = "models.inference.captioner:Captioner"
    shared_weights = "encoder.body."
    unused_settings = (
        *("search.max_ratio", "search.max_extra", "search.split_above"),
        *("tokenizer.joint", "tokenizer.target_kind"),
    )

    def vocabulary(self, sizes: VocabularySizes) -> VocabularySizes:
        """Return the target's vocabulary size alone; the source's is 0."""
        return VocabularySizes(0, sizes.target, False)
