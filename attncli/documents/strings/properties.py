r"""Java's `.properties`: `key = value`, with escapes and with lines that end in a backslash.

Without a character beyond ASCII in the file, the translation has `\uXXXX`, which every version of
Java reads. In a message with `{0}`, an apostrophe is doubled (java.text.MessageFormat).
"""

from __future__ import annotations

import re
from functools import partial

from attncli.documents.document import Document, DocumentOptions, string_segment

KEY = r"(?P<key>(?:[^\s:=\\#!]|\\.)(?:[^\s:=\\]|\\.)*)"
ENTRY = re.compile(
    rf"^[ \t\f]*{KEY}[ \t\f]*[:=]?[ \t\f]*(?P<value>(?:[^\\\r\n]|\\(?:\r\n|.))*)",
    re.MULTILINE | re.DOTALL,
)
ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9A-Fa-f]{4})|(?:\r\n|\r|\n)[ \t\f]*|(?P<sign>.))")
SIGNS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
WRITTEN = {"\\": "\\\\", **{sign: f"\\{letter}" for letter, sign in SIGNS.items()}}
COMMENT = re.compile(r"^[ \t\f]*[#!][^\r\n]*", re.MULTILINE)
FORMAT = re.compile(r"\{\d")


def read(content: str, options: DocumentOptions) -> Document:
    """Return the values of all keys."""
    shown = COMMENT.sub(lambda found: " " * len(found[0]), content)
    segments = []
    for found in ENTRY.finditer(shown):
        value = ESCAPE.sub(_character, found["value"])
        doubled = bool(FORMAT.search(value)) and not re.search("(?<!')'(?!')", value)
        value = value.replace("''", "'") if doubled else value
        quote = partial(_quoted, doubled=doubled, ascii_only=content.isascii())
        span = found.span("value")
        segments.append(string_segment(*span, value, quote, found["key"]))
    return Document(content, tuple(filter(None, segments)))


def _character(found: re.Match[str]) -> str:
    if found["code"]:
        return chr(int(found["code"], 16))
    return SIGNS.get(found["sign"], found["sign"]) if found["sign"] else ""


def _quoted(text: str, *, doubled: bool, ascii_only: bool) -> str:
    text = text.replace("'", "''") if doubled else text
    text = "".join(WRITTEN.get(sign, sign) for sign in text)
    text = f"\\{text}" if text[:1] == " " else text
    if not ascii_only:
        return text
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if code < 0x80 else f"\\u{code:04x}" for code in codes)
