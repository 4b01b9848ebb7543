"""Settings of the family `bag`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from models.core.config import AttendingConfig, ReadoutConfig, TextConfig, named


@dataclass(frozen=True, eq=False, repr=False)
class BagConfig(AttendingConfig, TextConfig, ReadoutConfig):
    """Bag of words."""

    builds: ClassVar[str] = "models.networks.bag:Bag"

    family: str = named("bag")
