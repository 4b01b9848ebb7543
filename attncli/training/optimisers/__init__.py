"""Optimisers by the value of train.optimiser: one file and one row each."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from torch import nn

from attncli.training.interfaces import Groups, Optimiser
from attncli.training.optimisers.adam import adam
from attncli.training.optimisers.muon import muon
from attncli.training.optimisers.rmsprop import rmsprop
from attncli.training.settings.config import TrainConfig
from models.encoders.image import pretrained_parameters
from models.families.encoder_decoder import EncoderDecoder

Builder = Callable[[Groups, TrainConfig, EncoderDecoder], Optimiser]
OPTIMISERS: dict[str, Builder] = {"adam": adam, "muon": muon, "rmsprop": rmsprop}


def optimiser(
    model: EncoderDecoder, learned: Iterable[nn.Parameter], config: TrainConfig
) -> Optimiser:
    """Return the configured optimiser of a model.

    learned: the parameters that training changes. Those of a pretrained encoder have the learning
    rate train.encoder_lr.
    """
    separate = {id(parameter) for parameter in pretrained_parameters(model) if config.encoder_from}
    parts: dict[bool, list[nn.Parameter]] = {False: [], True: []}
    for parameter in learned:
        parts[id(parameter) in separate].append(parameter)
    groups: Groups = [{"params": parts[False], "share": 1.0}]
    if parts[True]:
        groups.append({"params": parts[True], "share": config.encoder_lr / config.lr})
    return OPTIMISERS[config.optimiser](groups, config, model)
