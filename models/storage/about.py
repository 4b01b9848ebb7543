"""Facts about a model, for lists: stored in the section "about" of config.json.

"about": {"summary": "...", "languages": ["de", "en"], "licence": "CC BY 2.0 FR",
          "score": "BLEU 34.1 en-de (Tatoeba test)"}
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from models.storage.settings import CARD, WEIGHTS, read_settings, task_of

FREE = re.compile(r"(CC0|CC BY|Apache|MIT|BSD|ISC|MPL|[AL]?GPL|public domain)\b", re.I)
LIMITED = re.compile(r"research|\bNC\b|non-?commercial", re.I)


class About(NamedTuple):
    """Facts that the author of a model gives."""

    summary: str = ""  # one line
    languages: tuple[str, ...] = ()
    licence: str = ""
    score: str = ""

    @property
    def use(self) -> str:
        """Purpose for which the licence allows the model: any, research or unknown."""
        if LIMITED.search(self.licence):
            return "research"
        return "any" if FREE.match(self.licence) else "unknown"

    def to_dict(self) -> dict[str, Any]:
        """Return the facts that are given, for config.json."""
        facts = {**self._asdict(), "languages": list(self.languages)}
        return {name: value for name, value in facts.items() if value}


class Facts(NamedTuple):
    """A model on disk, described."""

    task: str  # translate, caption or classify
    family: str
    about: About
    bytes: int  # of the weights
    precision: str  # fp32 or int8


def read_about(settings: dict[str, Any]) -> About:
    """Return the facts in a bundle's settings; languages default to those of its tokenizer."""
    given = settings.get("about", {})
    languages = given.get("languages") or settings["tokenizer"].get("languages") or ()
    texts = {name: str(given.get(name, "")) for name in ("summary", "licence", "score")}
    listed = languages if isinstance(languages, (list, tuple)) else [languages]
    return About(languages=tuple(map(str, listed)), **texts)


def read_facts(folder: Path) -> Facts:
    """Return the facts about the model in a folder; a ModelError if it is damaged."""
    settings = read_settings(folder)
    return Facts(
        task_of(folder),
        str(settings["model"].get("family", "")),
        read_about(settings),
        (folder / WEIGHTS).stat().st_size,
        str(settings.get("weights", "fp32")),
    )


def read_card(folder: Path) -> str:
    """Return the model card, or "" if there is none."""
    try:
        return (folder / CARD).read_text("utf-8", errors="replace")
    except OSError:
        return ""
