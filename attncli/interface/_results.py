"""The check of texts that several models are given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from models.core.errors import InputError
from models.text.normalise import is_unicode


def as_list(texts: str | Iterable[str], what: str = "text") -> list[str]:
    """Return one text (or what a noun names) or many as a list; raise InputError otherwise."""
    several = isinstance(texts, Iterable) and not isinstance(texts, (str, bytes))
    found: list[Any] = list(texts) if several else [texts]
    for text in found:
        if not isinstance(text, str):
            raise InputError(f"a {what} of type {type(text).__name__}", "str, or several of them")
        if not is_unicode(text):
            raise InputError(f"a {what} with half a character ({text[:20]!a})", "valid Unicode")
    return found
