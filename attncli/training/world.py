"""The processes of a run, seen from one of them: in the core, the only one.

An annex adds a world of several processes, whose parts of an update and of an evaluation are added
up. Every process makes the same calls.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from models.core.errors import ResourceError

if TYPE_CHECKING:
    from torch import nn


class ProcessLost(ResourceError):
    """Another process of the run ended, or did not answer in time."""


class World:
    """A world of one process, which exchanges nothing."""

    number, size = 0, 1

    def __enter__(self) -> World:
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the run."""

    def own_device(self, device: str) -> str:
        """Return the device of this process, where several have one GPU each."""
        return device

    def begin(self, folder: Path) -> None:
        """Let the others join the run of a folder; for process 0."""

    def first(self, value: float) -> float:
        """Return the value of process 0."""
        return float(value)

    def total(self, values: Sequence[float]) -> list[float]:
        """Return the sums of the values over the processes."""
        return [float(value) for value in values]

    def gather(self, content: bytes) -> list[bytes]:
        """Return the bytes of every process."""
        return [content]

    def adding(self, module: nn.Module) -> nn.Module:
        """Return the module with gradients that are the means over the processes."""
        return module

    @contextlib.contextmanager
    def losses(self) -> Iterator[None]:
        """Raise ProcessLost for an exchange in this `with` block that fails or takes too long."""
        yield


ALONE = World()
