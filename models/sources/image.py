"""Images as input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.sources.base import Source
from models.types import VocabularySizes

if TYPE_CHECKING:
    from models.encoders.image import ImageEncoder
    from models.model import EncoderDecoder


class ImageSource(Source):
    """Image: a grid of features, one slot per cell; there is no source vocabulary.

    Source: Xu et al. 2015.
    """

    task = "caption"
    ability = "captions images"
    runner = "models.inference.captioner:Captioner"
    shared_weights = "encoder.body."
    ensemble = "models.inference.ensemble_captioner:EnsembleCaptioner"
    unused_settings = ("search.max_ratio", "search.max_extra", "tokenizer.joint")

    def vocabulary(self, sizes: VocabularySizes) -> VocabularySizes:
        """Return the target's vocabulary size alone; the source's is 0."""
        return VocabularySizes(0, sizes.target, False)


def image_encoder(model: EncoderDecoder) -> ImageEncoder:
    """Return the encoder of a model that reads images; raise TypeError for another model."""
    from models.encoders.image import ImageEncoder

    encoder = model.encoder
    if not isinstance(encoder, ImageEncoder):
        raise TypeError(f"{type(model).__name__} has no image encoder")
    return encoder
