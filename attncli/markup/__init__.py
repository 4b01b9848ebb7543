"""Inline markup carried through a translation: tags, entities and placeholders, none of them lost.

``parse`` takes the markup out of a line; ``carry`` puts it into the translation, where the words
are that it belonged to. Nothing here knows a model: what it needs is how much each word of the
translation looks at each word of the source.
"""

from attncli.markup.carry import carry
from attncli.markup.looks import Part, PieceLooks, of_words
from attncli.markup.parse import Mark, Marked, parse
from attncli.markup.words import words

__all__ = ["Mark", "Marked", "Part", "PieceLooks", "carry", "of_words", "parse", "words"]
