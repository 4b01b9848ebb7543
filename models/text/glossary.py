"""A glossary: how terms of the source are to be translated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from models.text.normalise import nfc, normalise


class Term(NamedTuple):
    """A source term and its translation."""

    source: str
    target: str


class Glossary:
    """Terms to find in texts, as whole words.

    Case, spacing, the kind of apostrophe and decomposed accents do not matter.
    """

    def __init__(self, terms: tuple[Term, ...]) -> None:
        self.terms = terms

    def targets(self, text: str) -> list[str]:
        """Return the translations of the terms in a text, each once, in the order of the text.

        Of overlapping terms, the longest is found.
        """
        matches = self._pattern.finditer(_matched(text))
        found = (self._by_source[match[0].casefold()] for match in matches)
        return list(dict.fromkeys(found))

    @cached_property
    def _by_source(self) -> Mapping[str, str]:
        return {_matched(term.source).casefold(): term.target for term in self.terms}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(
            (_matched(term.source) for term in self.terms), key=len, reverse=True
        )
        any_term = "|".join(map(re.escape, longest_first)) or r"(?!)"
        return re.compile(rf"(?<!\w)(?:{any_term})(?!\w)", re.IGNORECASE)


def _matched(text: str) -> str:
    """Return the form of a text or a term in which they are compared."""
    return nfc(normalise(text))
