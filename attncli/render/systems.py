"""Parts of score tables that all kinds of systems share: speed and read mode."""

from __future__ import annotations

from collections.abc import Iterable


def speed_cells(count: int, seconds: float | None) -> list[str]:
    """Return seconds and outputs per second as two cells; empty cells if the time is unknown."""
    return [f"{seconds:.1f}", f"{count / seconds:.1f}"] if seconds else ["", ""]


def read_modes(systems: Iterable[tuple[str, str]]) -> str:
    """Return a line for each system with hard attention: how it was read.

    systems: names and read modes: "soft", "hard argmax", ...; empty if unknown.
    """
    return "".join(
        f"{name}: hard attention, read by {read.partition(' ')[2]}\n"
        for name, read in systems
        if read.startswith("hard")
    )
