"""Settings given on the command line, which replace those saved with a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from models.base.settings import merged
from models.config.tables import AlignConfig, SearchConfig

C = TypeVar("C")


@dataclass(frozen=True)
class Overrides(Generic[C]):
    """Values by field name of one configuration class; a field that is absent keeps its value.

    The fields, their defaults and their documentation are those of the configuration class.
    """

    config_class: ClassVar[type]

    values: Mapping[str, Any] = field(default_factory=dict)

    def apply(self, saved: C) -> C:
        """Return the saved configuration with these values; raise ModelError on unknown names."""
        return merged(saved, self.values)

    def __bool__(self) -> bool:
        return bool(self.values)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value given for a field, or the default if there is none."""
        return self.values.get(name, default)


@dataclass(frozen=True)
class SearchOverrides(Overrides[SearchConfig]):
    """Search settings given on the command line."""

    config_class = SearchConfig


@dataclass(frozen=True)
class AlignOverrides(Overrides[AlignConfig]):
    """Alignment settings given on the command line."""

    config_class = AlignConfig
