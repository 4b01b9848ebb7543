"""Training data by kind of input: one class per kind, named in attncli.tasks.table.

Each kind states how its data are checked, loaded and described. Nothing here imports torch before
data are loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pkgutil import resolve_name

from attncli.tasks.table import TRAINING
from attncli.training.sources.base import TrainingSource
from models.base.registry import source_name


@cache
def find_training_source(name: str) -> TrainingSource:
    """Return the training source of a kind of input."""
    return resolve_name(TRAINING[name])()


def training_source(family: str) -> TrainingSource:
    """Return the training source of a family; a ModelError if the family is unknown."""
    return find_training_source(source_name(family))


def training_sources() -> Iterator[TrainingSource]:
    """Yield every registered training source."""
    yield from map(find_training_source, TRAINING)
