"""Checks of what several models are given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from models.core.errors import InputError
from models.core.use_config import SearchConfig
from models.engines.trained import TrainedModel
from models.text.normalise import is_unicode

M = TypeVar("M", bound=TrainedModel)


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


def searching(model: M, search: object) -> M:
    """Return a model with other search settings, unless they are None.

    Raises InputError for settings of another type.
    """
    if search is None:
        return model
    if not isinstance(search, SearchConfig):
        found = f"search settings of type {type(search).__name__}"
        raise InputError(
            found, "SearchConfig, as dataclasses.replace(model.search, beam=2) returns"
        )
    return model.with_search(search)
