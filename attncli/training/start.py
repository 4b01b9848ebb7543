"""How a run starts: with new weights, or from a trained model, which an annex adds.

A run that continues has its own checkpoint, and asks none of this again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from models.core.annexes import need_part
from models.networks.image_encoder import ImageEncoder, pretrained_encoder

if TYPE_CHECKING:
    from pathlib import Path

    from attncli.training.config import RunConfig
    from attncli.training.interfaces import Compared, Report
    from models.networks.encoder_decoder import EncoderDecoder
    from models.text.tokenizer import Tokenizer


class Start:
    """New weights; those of an image network may be pretrained."""

    def check(self, config: RunConfig) -> None:
        """Raise ModelError for settings that do not fit the initial model, before data are read."""

    def fill(self, model: EncoderDecoder, tokenizer: Tokenizer) -> None:
        """Fill a new model with its initial weights."""
        if encoder := pretrained_encoder(model):
            encoder.load_pretrained()
            labels = getattr(encoder, "labels", None)  # of an image network that names its images
            if labels is not None:
                labels.set_nouns(lambda noun: tokenizer.encode_target(noun)[:-1])

    def fill_encoder(self, encoder: ImageEncoder, name: str) -> None:
        """Fill an encoder alone with the weights that `fill` would give it.

        name: of the encoder in the model, such as encoder.image.
        """
        encoder.load_pretrained()

    def compared(self, run: Any, report: Report) -> Compared | None:
        """Return what the model learned and forgot at the end of a Run; None of new weights."""
        return None

    def is_compared(self, folder: Path, step: int) -> bool:
        """Return True unless a finished run was interrupted before its comparison.

        step: update of its final model.
        """
        return True

    def compared_outputs(self, dev: int, replay: int) -> int:
        """Return how many outputs the comparison computes, from the sizes of both sets."""
        return 0


FRESH = Start()


def start_of(start_from: str) -> Start:
    """Return the start of a run from the folder of its initial model; "" for new weights."""
    if not start_from:
        return FRESH
    found: Start = need_part("start", "model", f"the initial model {start_from}")(start_from)
    return found
