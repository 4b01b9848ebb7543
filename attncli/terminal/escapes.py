"""Escapes for text that other people chose: names of files, cells of tables."""

from __future__ import annotations

import unicodedata

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}  # Unicode categories that are shown as escapes
JOINERS = "\u200c\u200d"  # format characters that belong to words of some scripts
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with these a spreadsheet begins a formula


def printable(text: str, *, keep_surrogates: bool = False) -> str:
    """Return the text with control, format and unpaired surrogate characters as escapes.

    An escape sequence in a file name would otherwise control the user's terminal.
    keep_surrogates: leave those, which stand for bytes of a name that is not valid UTF-8.
    """
    if text.isprintable():
        return text
    hidden = HIDDEN - {"Cs"} if keep_surrogates else HIDDEN
    return "".join(
        letter.encode("unicode_escape").decode("ascii")
        if unicodedata.category(letter) in hidden and letter not in JOINERS
        else letter
        for letter in text
    )


def one_line(text: str) -> str:
    """Return the text with spaces in place of line breaks."""
    return text.replace("\r", " ").replace("\n", " ")


def one_cell(text: str) -> str:
    """Return the text with spaces in place of tabs and line breaks, for a column of a table."""
    return one_line(text).replace("\t", " ")


def cell(text: object) -> object:
    """Return the content of a CSV cell that a spreadsheet shows as text, never as a formula."""
    if isinstance(text, str) and text.startswith(FORMULA):
        return f"'{text}"
    return text
