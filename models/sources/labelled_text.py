"""Labelled text as input and output of a classifier."""

from __future__ import annotations

from models.base.types import VocabularySizes
from models.sources import Source


class LabelledTextSource(Source):
    """Labelled text: a sequence of token ids, one slot per token; the output is one label.

    Source: Zhou et al. 2016.
    """

    task = "classify"
    ability = "classifies texts"
    runner = "models.inference.classifier:Classifier"
    unused_settings = (
        *("search", "tokenizer.joint", "tokenizer.target_kind"),
        *("model.decoder_layers", "model.tied"),
    )

    def vocabulary(self, sizes: VocabularySizes) -> VocabularySizes:
        """Return the number of tokens and of labels, which are never shared."""
        return VocabularySizes(sizes.source, sizes.target, False)
