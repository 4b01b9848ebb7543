"""Settings of `attn models pack` for its option -s."""

from __future__ import annotations

from dataclasses import dataclass

from models.base.settings import option
from models.storage.about import About


@dataclass(frozen=True)
class AboutSettings:
    """Facts about a model, for `attn models`. Empty: those stored with the model."""

    summary: str = option("", "one line about the model")
    languages: tuple[str, ...] = option((), "its languages, separated by commas")
    licence: str = option("", "its licence")
    score: str = option("", "a score with its test set")

    @property
    def facts(self) -> About:
        """The facts as they are stored."""
        names = tuple(name.strip() for name in self.languages)
        return About(self.summary, names, self.licence, self.score)


@dataclass(frozen=True)
class PackTables:
    """Tables of `attn models pack`."""

    about: AboutSettings = option(AboutSettings, "facts about the model")
