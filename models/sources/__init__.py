"""Kinds of input: one class per kind, registered in models.base.registry under "source".

A family names the kind that it reads in its class body: `source = "image"`; the default is text.
No module in this package imports torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pkgutil import resolve_name
from typing import Any, ClassVar

from models.base.errors import ConfigurationError
from models.base.registry import find, source_name
from models.base.types import VocabularySizes


class Source:
    """One kind of input: its vocabulary, and the class that runs a trained model on it."""

    task: ClassVar[str]  # the command that runs such a model: "translate"
    ability: ClassVar[str]  # for messages: "translates texts"
    runner: ClassVar[str]  # module:Class, built from (bundle, device) or by `read(folder)`
    shared_weights: ClassVar[str] = ""  # prefix of weights that models may share; empty: none
    ensemble: ClassVar[str] = ""  # module:Class, built from several runners; empty: there is none
    has_columns: ClassVar[bool] = False  # True if a line of input is a row of several columns
    unused_settings: ClassVar[tuple[str, ...]] = ()  # of search and tokenizer, without effect

    def vocabulary(self, sizes: VocabularySizes) -> VocabularySizes:
        """Return the vocabulary sizes of a model, given those of its tokenizer."""
        return sizes

    def open(self, folder: Any, *, device: str = "cpu") -> Any:
        """Return the trained model in a folder, ready to use. Imports torch."""
        return resolve_name(self.runner).read(folder, device=device)

    def open_ensemble(self, folders: Sequence[Any], *, device: str = "cpu") -> Any:
        """Return the ensemble of the models in several folders. Imports torch.

        Raises ConfigurationError for models that cannot work together.
        """
        if not self.ensemble:
            raise ConfigurationError(
                f"{len(folders)} models, each of which {self.ability}",
                "one model: there are no ensembles of this kind",
            )
        members = [self.open(folder, device=device) for folder in folders]
        return resolve_name(self.ensemble)(members, [str(folder) for folder in folders])


@cache
def find_source(name: str) -> Source:
    """Return the kind of input with a registered name."""
    return find("source", name)()


def source_of(family: str) -> Source:
    """Return the kind of input that a family reads; a ModelError if the family is unknown."""
    return find_source(source_name(family))


def vocabulary_sizes(family: str, source: int, target: int, joint: bool) -> VocabularySizes:
    """Return the vocabulary sizes that a family is built with, given those of its tokenizer."""
    return source_of(family).vocabulary(VocabularySizes(source, target, joint))


def check_source(family: str, wanted: str, name: str = "") -> None:
    """Raise ConfigurationError unless a family reads inputs of the wanted kind.

    name: of the model, for the message.
    """
    found, expected = source_of(family), find_source(wanted)
    if found is not expected:
        raise ConfigurationError(
            f"{name}{' is ' if name else ''}a model of family {family}, which {found.ability}",
            f"a model that {expected.ability}",
            f"use `attn {found.task}`",
        )
