"""Ensemble of models: search over the mean of their probabilities of the next token.

    p(y_t | y_<t, x) = 1/M sum_m p_m(y_t | y_<t, x)

The models may be of different families and read different source vocabularies; their target
vocabularies are identical. Source: Sutskever et al. 2014 (ensembles of decoders).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from models.base.errors import ConfigurationError
from models.base.types import Memory
from models.inference.search.backend import Backend
from models.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from typing_extensions import Self


class MemberReadModes:
    """Read modes of an ensemble: those of its models with hard attention."""

    members: tuple[Any, ...]  # models that have a read mode

    @property
    def read_mode(self) -> str:
        """Read mode of the first model with hard attention; else that of the first model."""
        modes: list[str] = [member.read_mode for member in self.members]
        return next((mode for mode in modes if mode.startswith("hard")), modes[0])

    def with_read_mode(self, decode: str, *, seed: int = 1) -> Self:
        """Return this ensemble with another read mode of its models with hard attention.

        Raises ConfigurationError if no model has hard attention.
        """
        other, any_hard = copy.copy(self), self.read_mode.startswith("hard")
        other.members = tuple(
            member.with_read_mode(decode, seed=seed)
            if member.read_mode.startswith("hard") or not any_hard
            else member
            for member in self.members
        )
        return other


class MemberLengths:
    """Lengths of texts for an ensemble: a text is too long if it is for one of the models."""

    members: tuple[Any, ...]  # models of texts

    @property
    def max_source_length(self) -> int:
        """Maximum length of a text in tokens, end mark included: the lowest of the models."""
        lengths: list[int] = [member.max_source_length for member in self.members]
        return min(lengths)

    def source_length(self, text: str) -> int:
        """Return the length of a text in tokens, end mark included: the highest of the models."""
        lengths: list[int] = [member.source_length(text) for member in self.members]
        return max(lengths)


class MemberMemories(NamedTuple):
    """The memory of the same sources in each model."""

    parts: tuple[Memory, ...]

    @property
    def mask(self) -> Tensor:
        """Mask (B, S) of the first model's slots."""
        return self.parts[0].mask


class MemberStates(NamedTuple):
    """The state, or the prepared memory, of each model."""

    parts: tuple[Any, ...]

    def select(self, rows: Tensor) -> MemberStates:
        """Return the given rows of every part."""
        return MemberStates(tuple(part.select(rows) for part in self.parts))


class EnsembleStep(NamedTuple):
    """Result of one decoding step of all models."""

    log_probs: Tensor  # (R, Y)
    state: MemberStates


class EnsembleBackend:
    """Several models as one backend of the search."""

    def __init__(self, members: Sequence[Backend]) -> None:
        self.members = tuple(members)

    def start(self, memory: MemberMemories) -> tuple[MemberStates, MemberStates]:
        """Return the prepared memories and the states before the first token."""
        begun = [
            member.start(part) for member, part in zip(self.members, memory.parts, strict=True)
        ]
        return (
            MemberStates(tuple(prepared for prepared, _ in begun)),
            MemberStates(tuple(state for _, state in begun)),
        )

    def step(self, tokens: Tensor, state: MemberStates, prepared: MemberStates) -> EnsembleStep:
        """Return the mean of the probabilities after one more token per row, (R,)."""
        parts = zip(self.members, state.parts, prepared.parts, strict=True)
        steps = [member.step(tokens, own, memory) for member, own, memory in parts]
        mean = mean_log_probs([step.log_probs for step in steps])
        return EnsembleStep(mean, MemberStates(tuple(step.state for step in steps)))


def mean_log_probs(log_probs: Sequence[Tensor]) -> Tensor:
    """Return the logarithm of the mean of probabilities, given their logarithms (R, Y).

    The mean of equal numbers is exactly this number.
    """
    each = torch.stack(list(log_probs))  # (M, R, Y)
    greatest = each.amax(0)
    return greatest + (each - greatest).exp().mean(0).log()


def check_vocabularies(tokenizers: Sequence[Tokenizer], names: Sequence[str]) -> None:
    """Raise ConfigurationError unless all tokenizers have the same target tokens.

    names: of the models, for the message.
    """
    first = _target_tokens(tokenizers[0])
    for name, tokenizer in zip(names[1:], tokenizers[1:], strict=True):
        if _target_tokens(tokenizer) != first:
            raise ConfigurationError(
                f"{name} has another target vocabulary than {names[0]}",
                "models whose target tokens are identical, which an ensemble needs",
                "train one with --start-from the other, or give one -m",
            )


def member_names(count: int) -> list[str]:
    """Return names for models of unknown name, for messages."""
    return [f"model {number}" for number in range(1, count + 1)]


def _target_tokens(tokenizer: Tokenizer) -> tuple[str, ...]:
    return tokenizer.pieces(range(tokenizer.target.get_piece_size()))
