"""Optimisers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import torch
from torch import nn

from attncli.training.config import TrainConfig
from models.attention.layers import Embedding
from models.networks.encoder_decoder import EncoderDecoder, Output
from models.networks.image_encoder import pretrained_parameters

BETAS, EPSILON = (0.9, 0.98), 1e-9  # of Adam; Vaswani et al. 2017, section 5.3
Groups = list[dict[str, Any]]  # each with "params" and their "share" of the scheduled learning rate
MOMENTUM = 0.95  # of Muon; Jordan et al. 2024


class Optimiser(Protocol):
    """Updates of parameters from their gradients; implemented by `torch.optim.Optimizer`."""

    param_groups: Groups  # each with "lr" too
    state: Any  # by parameter: its tensors by name
    defaults: dict[str, Any]

    def step(self) -> object:
        """Update every parameter."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients."""


Builder = Callable[[Groups, TrainConfig, EncoderDecoder], Optimiser]


def adam(groups: Groups, config: TrainConfig, model: EncoderDecoder) -> Optimiser:
    """Return Adam in one fused kernel. Source: Kingma and Ba 2015."""
    # torch has no fused kernel for other devices, and raises an error there
    fused = groups[0]["params"][0].device.type in ("cpu", "cuda")
    return torch.optim.Adam(groups, lr=config.lr, betas=BETAS, eps=EPSILON, fused=fused)


def muon(groups: Groups, config: TrainConfig, model: EncoderDecoder) -> Optimiser:
    """Return Muon for the hidden matrices and Adam for the other parameters, at one rate.

        M_t = mu M_{t-1} + (1 - mu) G_t
        U_t = mu M_t + (1 - mu) G_t                     (Nesterov momentum)
        W_t = W_{t-1} - lr (0.2 sqrt(max(I, O)) NewtonSchulz(U_t) + decay W_{t-1})

    NewtonSchulz(U) = A B^T approximately, if U = A S B^T is the singular value decomposition: all
    singular values become about 1, so that an update changes every direction of a matrix equally.
    The factor 0.2 sqrt(max(I, O)) gives an update the root mean square of one of Adam, so that both
    share a learning rate. Sources: Jordan et al. 2024, https://kellerjordan.github.io/posts/muon;
    the factor: Liu et al. 2025, Muon is Scalable for LLM Training, eq. 4.
    """
    hidden = {id(matrix) for matrix in hidden_matrices(model)}
    matrices = _chosen(groups, lambda parameter: id(parameter) in hidden)
    others = _chosen(groups, lambda parameter: id(parameter) not in hidden)
    if not matrices:
        return adam(others, config, model)
    optimiser = torch.optim.Muon(
        matrices,
        lr=config.lr,
        weight_decay=0.0,
        momentum=MOMENTUM,
        # an update then has the size of one of Adam, so both share a rate
        adjust_lr_fn="match_rms_adamw",
    )
    return MuonWithAdam(optimiser, adam(others, config, model))


def hidden_matrices(model: nn.Module) -> Iterator[nn.Parameter]:
    """Yield the matrices of the layers between embeddings and output."""
    outer = {
        id(parameter)
        for part in model.modules()
        if isinstance(part, Embedding | Output)
        for parameter in part.parameters(recurse=False)
    }
    for parameter in model.parameters():
        # Jordan et al. 2024 leave embeddings and the output layer to Adam
        if parameter.dim() == 2 and min(parameter.shape) > 1 and id(parameter) not in outer:
            yield parameter


class MuonWithAdam:
    """Two optimisers of different parameters, used as one."""

    def __init__(self, muon: torch.optim.Optimizer, adam: Optimiser) -> None:
        self.parts: tuple[Optimiser, Optimiser] = (muon, adam)
        self.param_groups = [*muon.param_groups, *adam.param_groups]
        self.state = muon.state = adam.state  # each reads its own parameters only
        self.defaults = adam.defaults

    def step(self) -> None:
        """Update every parameter."""
        for part in self.parts:
            part.step()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients."""
        for part in self.parts:
            part.zero_grad(set_to_none)


def _chosen(groups: Groups, is_wanted: Callable[[nn.Parameter], bool]) -> Groups:
    """Return the groups with the wanted parameters only, without those that have none."""
    found = [{**group, "params": list(filter(is_wanted, group["params"]))} for group in groups]
    return [group for group in found if group["params"]]


OPTIMISERS: dict[str, Builder] = {"adam": adam, "muon": muon}


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
