"""The interface of optimisers, and groups of parameters that share a learning rate."""

from __future__ import annotations

from typing import Any, Protocol

Groups = list[dict[str, Any]]  # each with "params" and their "share" of the scheduled learning rate


class Optimiser(Protocol):
    """Updates of parameters from their gradients; implemented by `torch.optim.Optimizer`."""

    param_groups: Groups  # each with "lr" too
    state: Any  # by parameter: its tensors by name
    defaults: dict[str, Any]

    def step(self) -> Any:
        """Update every parameter."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients."""
