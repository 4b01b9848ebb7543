"""Parts of score tables that all kinds of systems share: speed and read mode."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class NamedSystem(Protocol):
    """A system with the read mode of its attention; empty or "soft" if it is not hard."""

    @property
    def name(self) -> str:
        """Name in the table."""

    @property
    def read(self) -> str:
        """Read mode: "soft", "hard argmax", ...; empty if unknown."""


def speed_cells(count: int, seconds: float | None) -> list[str]:
    """Return seconds and outputs per second as two cells; empty cells if the time is unknown."""
    return [f"{seconds:.1f}", f"{count / seconds:.1f}"] if seconds else ["", ""]


def read_modes(systems: Iterable[NamedSystem]) -> str:
    """Return a line for each system with hard attention: how it was read."""
    return "".join(
        f"{system.name}: hard attention, read by {system.read.partition(' ')[2]}\n"
        for system in systems
        if is_hard(system)
    )


def is_hard(system: NamedSystem) -> bool:
    """Return True if the attention of a system is hard."""
    return system.read.startswith("hard")
