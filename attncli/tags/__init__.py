"""Tag projection: markup in a line is removed before translation and put back afterwards.

A tag is any piece of markup: an element tag, a comment, a placeholder, an address, or an entity
that stands for a space. `parse` removes the tags of a line; `project_tags` inserts them into the
translation, beside the words that correspond to their source words. This package knows no model.
It needs the attention weight of each target word on each source word.
"""

from attncli.tags.parse import Tag, TaggedLine, parse
from attncli.tags.project import project_tags
from attncli.tags.word_weights import PartWeights, TokenWeights, word_weights
from attncli.tags.words import words

__all__ = [
    "Tag",
    "TaggedLine",
    "PartWeights",
    "TokenWeights",
    "project_tags",
    "word_weights",
    "parse",
    "words",
]
