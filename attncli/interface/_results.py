"""Parts that the results of several models share."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

from models.core.errors import InputError
from models.core.types import Hypothesis
from models.core.use_config import SearchConfig
from models.text.normalise import is_unicode


class RankedOutputs:
    """The outputs for one input, best first."""

    hypotheses: tuple[Hypothesis, ...]

    @property
    def score(self) -> float:
        """Score of the best output: its log-probability over the length penalty."""
        return self.hypotheses[0].score

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Texts of the other outputs; `nbest` of the search says how many there are."""
        return tuple(hypothesis.text for hypothesis in self.hypotheses[1:])


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


def check_search(search: object) -> None:
    """Raise InputError for search settings of another type; None stands for those of the model."""
    if search is not None and not isinstance(search, SearchConfig):
        found = f"search settings of type {type(search).__name__}"
        raise InputError(
            found, "SearchConfig, as dataclasses.replace(model.search, beam=2) returns"
        )


def framed(page: bytes, height: int) -> str:
    """Return an HTML page in a frame: its scripts and styles do not affect the notebook."""
    content = html.escape(page.decode("utf-8"))
    return (
        f'<iframe srcdoc="{content}" sandbox="allow-scripts" height="{height}" '
        'style="width: 100%; border: 0; background: #fff"></iframe>'
    )
