"""Comparisons by kind of input: one class per kind, named in attncli.tasks.table.

Each kind states its variants and defaults, shares its data between the runs, and scores a trained
model. Nothing here imports torch before data are read.
"""

from __future__ import annotations

from functools import cache
from pkgutil import resolve_name

from attncli.jobs.compared.base import ComparedSource
from attncli.tasks.table import COMPARISONS
from models.base.errors import ConfigurationError
from models.base.registry import source_name


@cache
def find_compared_source(name: str) -> ComparedSource:
    """Return the comparison of a kind of input; raise a ModelError if the kind has none."""
    if name not in COMPARISONS:
        raise ConfigurationError(
            f"a comparison of models whose input is {name}", f"models for {', '.join(COMPARISONS)}"
        )
    return resolve_name(COMPARISONS[name])()


def compared_source(family: str) -> ComparedSource:
    """Return the comparison of a family; raise a ModelError if the family is unknown."""
    return find_compared_source(source_name(family))
