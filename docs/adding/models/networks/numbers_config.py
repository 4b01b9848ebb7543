"""Settings of the family `numbers`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from models.core.config import AttendingConfig, ReadoutConfig, named


@dataclass(frozen=True, eq=False, repr=False)
class NumbersConfig(AttendingConfig, ReadoutConfig):
    """Texts about rows of numbers."""

    builds: ClassVar[str] = "models.networks.numbers:Numbers"
    source: ClassVar[str] = "numbers"

    family: str = named("numbers")
