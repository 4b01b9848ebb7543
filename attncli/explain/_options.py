"""Options of explanations. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

from attncli.options.settings import Options
from attncli.options.shared import PictureSettings
from models.core.errors import InputError, unknown_name
from models.core.settings import option
from models.explain import METHODS, ExplainOptions

BRIEF = ("attention", "erasure")  # methods of the text output, unless others are named
ALL = "all"


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


def chosen(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return the methods that are named, each once. Raises ModelError for an unknown one."""
    if not isinstance(names, (str, Sequence)) or not names:
        found = "no method" if names in ("", (), []) else f"a method of type {type(names).__name__}"
        raise InputError(found, f"{ALL} or {', '.join(METHODS)}")
    given = [names] if isinstance(names, str) else names
    for name in given:
        if name not in (*METHODS, ALL):
            raise unknown_name("method", str(name), (*METHODS, ALL))
    return tuple(METHODS) if ALL in given else tuple(dict.fromkeys(given))


def checked(word: int) -> int:
    """Return the number of an output word, or 0 for all; raise InputError for another value."""
    if not isinstance(word, Integral) or isinstance(word, bool) or word < 0:
        raise InputError(f"word = {word!r}", "the number of an output word from 1, or 0 for all")
    return word
