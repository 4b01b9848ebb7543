"""Options of explanations. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass

from attncli.options.settings import Options
from attncli.options.shared import PictureSettings
from models.core.settings import option
from models.explain import METHODS, ExplainOptions


@dataclass(frozen=True)
class ExplainedOptions(Options):
    """Options of `attn explain`."""

    TABLES = "picture attention"

    picture: PictureSettings = option(PictureSettings, "--picture")
    methods: tuple[str, ...] = tuple(METHODS)
    word: int = 0  # number of the only output word that is explained, from 1; 0: all
    show: bool = False  # True draws in the colours of the terminal, and the maps of an image

    @property
    def explained(self) -> ExplainOptions:
        """What is explained, and how."""
        return ExplainOptions(self.methods, self.word)
