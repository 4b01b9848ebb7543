"""Comparisons by kind of input: one class per kind, registered in COMPARED.

Each kind states its variants and defaults, shares its data between the runs, and scores a trained
model. Nothing here imports torch before data are read.
"""

from __future__ import annotations

from functools import cache

from attncli.jobs.compared.base import ComparedSource
from models.errors import ConfigurationError
from models.places import imported
from models.registry import source_name

COMPARED = {  # kind of input (models/sources): module:Class
    "text": "attncli.jobs.compared.text:ComparedTexts",
    "image": "attncli.jobs.compared.image:ComparedImages",
    "labelled_text": "attncli.jobs.compared.labels:ComparedLabels",
}


@cache
def find_compared_source(name: str) -> ComparedSource:
    """Return how models of a kind of input are compared; a ModelError if there is no way."""
    if name not in COMPARED:
        raise ConfigurationError(
            f"a comparison of models whose input is {name}", f"models for {', '.join(COMPARED)}"
        )
    source: ComparedSource = imported(COMPARED[name])()
    return source


def compared_source(family: str) -> ComparedSource:
    """Return how models of a family are compared; a ModelError if the family is unknown."""
    return find_compared_source(source_name(family))


def compared_sources() -> list[ComparedSource]:
    """Return every registered kind; that of texts, which is the default, is the first."""
    return [find_compared_source(name) for name in COMPARED]
