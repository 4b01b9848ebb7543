"""A glossary: how terms of the source are to be translated."""

from __future__ import annotations

import re
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
        sources = [_matched(term.source) for term in terms]
        pairs = zip(sources, terms, strict=True)
        self._by_source = {source.casefold(): term.target for source, term in pairs}
        any_term = "|".join(map(re.escape, sorted(sources, key=len, reverse=True))) or r"(?!)"
        self._pattern = re.compile(rf"(?<!\w)(?:{any_term})(?!\w)", re.IGNORECASE)

    def targets(self, text: str) -> list[str]:
        """Return the translations of the terms in a text, each once, in the order of the text.

        Of overlapping terms, the longest is found.
        """
        matches = self._pattern.finditer(_matched(text))
        found = (self._by_source[match[0].casefold()] for match in matches)
        return list(dict.fromkeys(found))


def _matched(text: str) -> str:
    """Return the form of a text or a term in which they are compared."""
    return nfc(normalise(text))
