"""Kinds of input: one class per kind, registered in models.base.registry under "source".

A family names the kind that it reads in its class body: `source = "image"`; the default is text.
"""

from __future__ import annotations

from functools import cache

from models.base.errors import ConfigurationError
from models.base.registry import find, source_name
from models.base.types import VocabularySizes
from models.sources.base import Source

__all__ = ["Source", "check_source", "find_source", "source_of", "vocabulary_sizes"]


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
