"""Rows of several inputs: texts, and at most one image.

A row is a line whose columns are separated by tabs, in the order of `model.inputs`; the column of
an image is the path of its file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from models.base.errors import ConfigurationError
from models.sources import Source

TAB = "\t"
IMAGE = "image"
FORM = "two columns or more, texts first, as in source,draft or source,picture:image"


class RowSource(Source):
    """Rows: several texts, or texts and an image; one slot per token and per image cell.

    Source: Zoph and Knight 2016; Libovický and Helcl 2017.
    """

    task = "translate"
    ability = "translates rows of several inputs"
    runner = "models.inference.row_translator:RowTranslator"
    ensemble = "models.inference.translator:EnsembleTranslator"
    has_columns = True
    unused_settings = ("search.max_caption", "search.split_above")


class RowColumns(NamedTuple):
    """Inputs of a row."""

    names: tuple[str, ...]  # texts first
    has_image: bool  # the last one is the path of an image

    @property
    def texts(self) -> int:
        """Number of texts."""
        return len(self.names) - self.has_image


def columns_of(inputs: Sequence[str]) -> RowColumns:
    """Return the columns that `model.inputs` names; raise ConfigurationError for another form."""
    parts = [each.partition(":") for each in inputs]
    names = tuple(name for name, _, _ in parts)
    kinds = [kind for _, _, kind in parts]
    correct = len(names) > 1 and all(names) and len({*names}) == len(names)
    if not correct or any(kinds[:-1]) or kinds[-1] not in ("", IMAGE):
        raise ConfigurationError(f"model.inputs = {','.join(inputs)!r}", FORM)
    return RowColumns(names, bool(kinds[-1]))
