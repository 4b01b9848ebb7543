"""COMET, if the package unbabel-comet is installed: scores that a trained model gives.

Source: Rei, Stewart, Farinha, Lavie 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attncli.scoring.score import MetricScore
from models.core.errors import ConfigurationError, InputError, install_command

BATCH = 8  # sentences


class Comet(NamedTuple):
    """A model of COMET."""

    name: str
    model: Any

    def scores(
        self, sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]
    ) -> tuple[MetricScore, ...]:
        """Return the mean score of the outputs, in percent. references: the first ones alone."""
        columns = zip(sources, outputs, references, strict=True)
        rows = [{"src": source, "mt": output, "ref": ref or ""} for source, output, ref in columns]
        found = self.model.predict(rows, batch_size=BATCH, gpus=0, progress_bar=False)
        return (MetricScore("COMET", 100 * found.system_score, f"model:{self.name}|nrefs:1"),)


def open_comet(name: str) -> Comet | None:
    """Return the model of a name of Unbabel's, or of a checkpoint; None for "".

    Raises ConfigurationError if the package is not installed, and InputError if the model cannot be
    read.
    """
    if not name:
        return None
    try:
        import comet
    except ImportError:
        raise ConfigurationError(
            "scores.comet without the package unbabel-comet",
            "an installed package",
            install_command("comet"),
        ) from None
    try:
        path = name if Path(name).is_file() else comet.download_model(name)
        return Comet(name, comet.load_from_checkpoint(path))
    except (OSError, KeyError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"no COMET model {name} ({reason})", "Unbabel/wmt22-comet-da") from None
