"""Tag projection: markup in a line is removed before translation and put back afterwards.

A tag is any piece of markup: an element tag, a comment, a placeholder, an address, or an entity
that stands for a space. `parse` removes the tags of a line; `project_tags` inserts them into the
translation, beside the words that correspond to their source words. This package knows no model.
It needs the attention weight of each target word on each source word.
"""
