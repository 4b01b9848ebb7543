"""Training data by kind of input: one class per kind, registered in SOURCES.

Each kind states how its data are checked, loaded and described. Nothing here imports torch before
data are loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from attncli.training.sources.base import TrainingSource
from models.base.places import imported
from models.base.registry import source_name

SOURCES = {  # kind of input (models/sources): module:Class
    "text": "attncli.tasks.translate.training.source:TextTraining",
    "rows": "attncli.tasks.translate.training.row_source:RowTraining",
    "image": "attncli.tasks.caption.training.source:ImageTraining",
    "labelled_text": "attncli.tasks.classify.training.source:LabelTraining",
}


@cache
def find_training_source(name: str) -> TrainingSource:
    """Return the training source of a kind of input."""
    source: TrainingSource = imported(SOURCES[name])()
    return source


def training_source(family: str) -> TrainingSource:
    """Return the training source of a family; a ModelError if the family is unknown."""
    return find_training_source(source_name(family))


def training_sources() -> Iterator[TrainingSource]:
    """Yield every registered training source."""
    yield from map(find_training_source, SOURCES)
