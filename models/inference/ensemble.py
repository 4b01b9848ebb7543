"""Ensemble of models: search over the mean of their probabilities of the next token.

    p(y_t | y_<t, x) = 1/M sum_m p_m(y_t | y_<t, x)

The models may be of different families and read different source vocabularies; their target
vocabularies are identical. Source: Sutskever et al. 2014 (ensembles of decoders).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from models.base.errors import ConfigurationError
from models.base.types import Memory
from models.inference.search.backend import Backend

if TYPE_CHECKING:
    pass

M = TypeVar("M")
States = tuple[Any, ...]  # states, or prepared memories, of each model


class Memories(NamedTuple):
    """The memories of the same sources in all models."""

    parts: tuple[Memory, ...]

    @property
    def mask(self) -> Tensor:
        """Mask (B, S) of the first model's slots."""
        return self.parts[0].mask


class EnsembleStep(NamedTuple):
    """Result of one decoding step of all models."""

    log_probs: Tensor  # (R, Y)
    state: States


class EnsembleBackend:
    """Several models as one backend of the search."""

    def __init__(self, members: Sequence[Backend]) -> None:
        self.members = tuple(members)

    def start(self, memory: Memories) -> tuple[States, States]:
        """Return the prepared memories and the states before the first token."""
        pairs = zip(self.members, memory.parts, strict=True)
        prepared, states = zip(*(member.start(part) for member, part in pairs), strict=True)
        return prepared, states

    def step(self, tokens: Tensor, state: States, prepared: States) -> EnsembleStep:
        """Return the mean of the probabilities after one more token per row, (R,)."""
        parts = zip(self.members, state, prepared, strict=True)
        steps = [member.step(tokens, own, memory) for member, own, memory in parts]
        mean = mean_log_probs([step.log_probs for step in steps])
        return EnsembleStep(mean, tuple(step.state for step in steps))


def mean_log_probs(log_probs: Sequence[Tensor]) -> Tensor:
    """Return the logarithm of the mean of probabilities, given their logarithms (R, Y).

    The mean of equal numbers is exactly this number.
    """
    each = torch.stack(list(log_probs))  # (M, R, Y)
    greatest = each.amax(0)
    return greatest + (each - greatest).exp().mean(0).log()


def check_equal(
    members: Sequence[M], names: Sequence[str], what: str, value_of: Callable[[M], Any]
) -> None:
    """Raise ConfigurationError unless a value is equal for all models.

    names: of the models, for the message; empty if they are unknown. what: the value.
    """
    values = [value_of(member) for member in members]
    names = names or [f"model {number}" for number in range(1, len(members) + 1)]
    for name, value in zip(names[1:], values[1:], strict=True):
        if value != values[0]:
            raise ConfigurationError(
                f"{name} and {names[0]} have different {what}",
                f"models of the same {what}, which an ensemble needs",
                "give one -m, or train one with --start-from the other",
            )


def target_tokens(member: Any) -> tuple[str, ...]:
    """Return the tokens of a model's outputs, by id."""
    return member.tokenizer.pieces(range(member.tokenizer.target.get_piece_size()))
