"""A run that begins with a trained model: its weights and its pieces, on other data or settings.

Sentence pairs of one's own domain, hard attention after soft, an image network that learns after
it was frozen, reward after likelihood: each goes on from what is learned already.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from torch import nn

from attncli.training.config import RunConfig
from models.bundle import fill_from, read_settings
from models.config import TokenizerConfig, from_dict
from models.encoders.image import ImageEncoder, load_pretrained
from models.errors import ModelError
from models.model import EncoderDecoder
from models.tokenizer import Tokenizer


def pieces(config: RunConfig, learn: Callable[[], Tokenizer]) -> Tokenizer:
    """The pieces of the model that the run begins with, or those it learns."""
    if not config.start_from:
        return learn()
    folder = Path(config.start_from)
    stored = from_dict(TokenizerConfig, read_settings(folder)["tokenizer"], where="tokenizer")
    if config.tokenizer != stored:
        raise ModelError(
            f"settings of the tokenizer beside the model in {folder} to begin with",
            "none: the pieces are that model's",
        )
    return Tokenizer.read(folder)


def first_weights(model: EncoderDecoder, config: RunConfig) -> None:
    """Give a fresh model the weights that are there before training."""
    if config.start_from:
        fill_from(model, Path(config.start_from))
    elif isinstance(model.encoder, ImageEncoder):
        load_pretrained(model.encoder, config.model.image)


def first_encoder_weights(encoder: ImageEncoder, config: RunConfig) -> None:
    """The same for an image encoder alone; nothing of its own may be left as it was drawn."""
    if config.start_from:
        whole = nn.Module()
        whole.encoder = encoder
        fill_from(whole, Path(config.start_from), others=True)
    else:
        load_pretrained(encoder, config.model.image)
