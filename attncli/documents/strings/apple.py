r"""Apple's `.strings`: `"key" = "value";` between comments."""

from __future__ import annotations

import re

from attncli.documents.document import Document, DocumentOptions, string_segment

STRING = r'"(?:[^"\\]|\\.)*"'
PART = re.compile(
    rf"/\*.*?\*/|//[^\n]*|(?P<key>{STRING}|[\w.-]+)\s*=\s*(?P<value>{STRING})\s*;", re.DOTALL
)
ESCAPE = re.compile(r"\\(?:U(?P<code>[0-9A-Fa-f]{4})|(?P<sign>.))", re.DOTALL)
SIGNS = {"t": "\t", "n": "\n", "r": "\r"}
WRITTEN = {"\\": "\\\\", '"': '\\"', **{sign: f"\\{letter}" for letter, sign in SIGNS.items()}}


def read(content: str, options: DocumentOptions) -> Document:
    """Return the values of all keys."""
    segments = [
        string_segment(*found.span("value"), _unquoted(found["value"]), _quoted, found["key"])
        for found in PART.finditer(content)
        if found["value"]
    ]
    return Document(content, tuple(filter(None, segments)))


def _unquoted(value: str) -> str:
    return ESCAPE.sub(
        lambda found: (
            chr(int(found["code"], 16))
            if found["code"]
            else SIGNS.get(found["sign"], found["sign"])
        ),
        value[1:-1],
    )


def _quoted(text: str) -> str:
    return '"' + "".join(WRITTEN.get(sign, sign) for sign in text) + '"'
