"""A run's data, of the kind that its model learns from."""

from __future__ import annotations

from pathlib import Path

from attncli.training import texts
from attncli.training.config import RunConfig
from attncli.training.material import Data, Show
from attncli.training.start import weights_hash


def load_data(config: RunConfig, folder: Path, show: Show) -> Data:
    """The run's data, made in the run folder the first time."""
    if config.sees_pictures:
        from attncli.training import captioned  # what decodes pictures is not imported for text

        return captioned.load(config, folder, show)
    return texts.load(config, folder, show)


def fingerprints(config: RunConfig) -> dict[str, str]:
    """What the inputs of a run hold, so that a folder of other ones is recognised."""
    begun = {"start": weights_hash(Path(config.start_from))} if config.start_from else {}
    if config.sees_pictures:
        from attncli.training import captioned

        return captioned.fingerprints(config.data) | begun
    return texts.fingerprints(config.data) | begun
