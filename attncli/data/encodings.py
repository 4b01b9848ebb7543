"""Text that is not UTF-8: Windows-1252 is read if it looks like a text, anything else is not."""

from __future__ import annotations

WESTERN = "windows-1252"
MOST_ACCENTED = 0.3  # share of the letters; a text in another code page has more
CONVERT = "convert it: iconv -f ENCODING -t UTF-8"


def western(content: bytes) -> str | None:
    """Return some content that is not UTF-8 as Windows-1252; None if it does not look like that."""
    try:
        text = content.decode(WESTERN)
    except UnicodeDecodeError:
        return None
    letters = [sign for sign in text if sign.isalpha()]
    accented = sum(sign > "\x7f" for sign in letters)
    is_binary = b"\xff" in content or any(sign < " " and sign not in "\t\n\r\f" for sign in text)
    return None if is_binary or accented > MOST_ACCENTED * len(letters) else text
