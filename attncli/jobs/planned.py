"""A run of a comparison, before and after it is trained."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import NamedTuple

from attncli.jobs.compared import compared_source
from attncli.training.settings.config import RunConfig


class Planned(NamedTuple):
    """One run of a comparison."""

    variant: str
    config: RunConfig
    folder: Path
    first: bool  # True for the first seed of the variant

    @property
    def files_key(self) -> Hashable:
        """A key that is equal for runs that tokenise the same data in the same way."""
        model, source = self.config.model, compared_source(self.config.model.family)
        key = source.files_key(self.config.data, self.config.tokenizer, model.max_source)
        return model.inputs, key
