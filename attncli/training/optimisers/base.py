"""The interface of optimisers, and groups of parameters that share a learning rate."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from torch import nn


class ParameterGroup(NamedTuple):
    """Parameters and their share of the scheduled learning rate."""

    parameters: list[nn.Parameter]
    share: float

    def options(self) -> dict[str, Any]:
        """Return the group as a torch optimiser expects it."""
        return {"params": self.parameters, "share": self.share}


class Optimiser(Protocol):
    """Updates of parameters from their gradients; implemented by `torch.optim.Optimizer`."""

    param_groups: list[dict[str, Any]]  # each with "params", "lr" and "share"
    state: Any  # by parameter: its tensors by name
    defaults: dict[str, Any]

    def step(self) -> Any:
        """Update every parameter."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients."""
