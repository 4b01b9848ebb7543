"""An epoch: its examples, their batches in training order, and the parts of the model it trains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attncli.data.batching import Examples, epoch_plan
from attncli.training.settings.config import TrainConfig
from models.encoders.image import pretrained_encoder
from models.families.encoder_decoder import EncoderDecoder


class Epoch(NamedTuple):
    """One pass over the data."""

    number: int  # from 0
    examples: Examples
    plan: list[np.ndarray]  # batches, as arrays of example numbers


def start_epoch(
    model: EncoderDecoder, examples: Examples, config: TrainConfig, number: int
) -> Epoch:
    """Return an epoch of some examples; freeze or unfreeze the pretrained encoder."""
    set_encoder_frozen(model, number, config)
    examples = examples.at(number)
    return Epoch(number, examples, batches_of(examples, config, number))


def batches_of(examples: Examples, config: TrainConfig, number: int = 0) -> list[np.ndarray]:
    """Return the batches of an epoch, as arrays of example numbers, in training order."""
    return epoch_plan(
        examples,
        config.batch_tokens,
        seed=config.seed,
        epoch=number,
        both_sides=config.sort == "both_sides",
    )


def set_encoder_frozen(model: EncoderDecoder, epoch: int, config: TrainConfig) -> None:
    """Unfreeze a pretrained encoder from epoch train.encoder_from on; freeze it before."""
    if config.encoder_from and (encoder := pretrained_encoder(model)):
        if epoch + 1 >= config.encoder_from:
            encoder.unfreeze()
        else:
            encoder.freeze()
