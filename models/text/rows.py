"""Tokenizer of rows: several texts, each with its own end mark."""

from __future__ import annotations

from models.sources.rows import TAB
from models.text.tokenizer import END, Tokenizer


class RowTokenizer(Tokenizer):
    """A tokenizer whose sources are rows: columns separated by tabs, texts first.

    Further columns, such as the path of an image, are not encoded. The ids of a row without a word
    are one end mark, as those of an empty text.
    """

    def __init__(self, tokenizer: Tokenizer, texts: int) -> None:
        super().__init__(*tokenizer.files().values())
        self.texts = texts  # number of them in a row

    def columns(self, row: str) -> list[str]:
        """Return the texts of a row; an absent one is empty."""
        given = row.split(TAB)[: self.texts]
        return [*given, *[""] * (self.texts - len(given))]

    def encode(self, text: str, to: str = "") -> list[int]:
        """Return the ids of a row: of each text, END included."""
        texts = self.columns(text)
        if not any(each.strip() for each in texts):
            return [END]
        return [number for each in texts for number in super(RowTokenizer, self).encode(each)]

    def encode_sources(self, texts: list[str], threads: int = 1) -> list[list[int]]:
        """Return the ids of rows. threads: unused."""
        return [self.encode(text) for text in texts]
