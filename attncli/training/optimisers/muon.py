"""Muon: momentum whose update of each hidden matrix is orthogonalised; Adam for all else.

    M_t = mu M_{t-1} + (1 - mu) G_t
    U_t = mu M_t + (1 - mu) G_t                     (Nesterov momentum)
    W_t = W_{t-1} - lr (0.2 sqrt(max(I, O)) NewtonSchulz(U_t) + decay W_{t-1})

NewtonSchulz(U) = A B^T approximately, if U = A S B^T is the singular value decomposition: all
singular values become about 1, so that an update changes every direction of a matrix equally. The
factor 0.2 sqrt(max(I, O)) gives an update the root mean square of one of Adam, so that both share a
learning rate. Adam updates embeddings, the output layer, and all that is no matrix.

Source: Jordan et al. 2024, https://kellerjordan.github.io/posts/muon; the factor: Liu et al. 2025,
Muon is Scalable for LLM Training, eq. 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import nn

from attncli.training.interfaces import Groups, Optimiser
from attncli.training.optimisers.adam import adam
from attncli.training.settings.config import TrainConfig
from models.families.encoder_decoder import EncoderDecoder, Output
from models.layers import Embedding

MOMENTUM = 0.95  # of Muon; Jordan et al. 2024


def muon(groups: Groups, config: TrainConfig, model: EncoderDecoder) -> Optimiser:
    """Return Muon for the hidden matrices and Adam for the other parameters, at one rate."""
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
