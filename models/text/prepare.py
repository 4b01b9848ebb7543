"""Preparation of a text as the model's training sources were written: spaces and apostrophes.

A text is changed only where the training sources were not written so. Training decides it from
them (`preparation_for`) and stores it with the model, so that every use of the model reads a text
in the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from models.base.errors import InputError
from models.config import PrepareConfig
from models.text.normalise import (
    APOSTROPHE_SIGNS,
    SPACES,
    is_all_capitals,
    is_outer,
    is_untranslatable,
    outer_symbols,
    with_single_spaces,
    without_added_stop,
)

SIGNS = f"'{APOSTROPHE_SIGNS}"
KNOWN = 0.02  # share of the training sources from which on the model knows a way of writing
SPACE_MARK = "\u2581"  # of a token of SentencePiece


def prepared(text: str, config: PrepareConfig) -> str:
    """Return a text with the spaces and apostrophes that the model knows."""
    return with_apostrophes(with_single_spaces(text) if config.spaces else text, config)


def prepared_in_place(text: str, config: PrepareConfig) -> str:
    """Return the text with plain spaces and known apostrophes, all at their positions."""
    if config.spaces:
        text = "".join(" " if SPACES.match(sign) else sign for sign in text)
    return with_apostrophes(text, config)


def with_apostrophes(text: str, config: PrepareConfig) -> str:
    """Return the text with apostrophes that the model knows. It has the same length."""
    return text.translate(_replacements(config.apostrophes)) if config.apostrophes else text


@cache
def _replacements(known: str) -> dict[int, str]:
    return {ord(sign): known[0] for sign in SIGNS if sign not in known}


def preparation_for(sources: Sequence[str], targets: Sequence[str]) -> PrepareConfig:
    """Return the preparation for a model that is trained on sources with their translations."""
    texts = [source for source in sources if source.strip()]

    def has_symbols(text: str) -> bool:
        return not all(map(is_outer, text)) and any(outer_symbols(text.strip()))

    def usual(is_so: Callable[[str], bool]) -> bool:
        return sum(map(is_so, texts)) >= least

    least = max(1, KNOWN * len(texts))
    pairs = [*zip(sources, targets, strict=True)]
    translated = sum(is_untranslatable(text) and text != other for text, other in pairs)
    stopped = sum(without_added_stop(other, text) != other for text, other in pairs)
    return PrepareConfig(
        apostrophes=_apostrophes(texts),
        spaces=not usual(lambda text: with_single_spaces(text) != text.strip()),
        symbols=not usual(has_symbols),
        copies=translated < least,
        capitals=not usual(is_all_capitals),
        ends=stopped < least,
    )


def _apostrophes(texts: Iterable[str]) -> str:
    """Return the usual apostrophes of texts, the most frequent one first."""
    counts = Counter(sign for text in texts for sign in set(text).intersection(SIGNS))
    least = KNOWN * counts.total()
    return "".join(sign for sign, count in counts.most_common() if count >= least) or "'"


def check_untokenised(texts: Iterable[str], name: str) -> None:
    """Raise InputError if most texts are tokens of SentencePiece, which would be tokenised again.

    name: of the file, for the message.
    """
    marked = [text.startswith(SPACE_MARK) for text in texts if text.strip()]
    if 2 * sum(marked) > len(marked):
        raise InputError(
            f"{name} contains SentencePiece tokens ({SPACE_MARK})",
            "plain text, which training tokenises itself",
            f"join the tokens: sed 's/ //g; s/{SPACE_MARK}/ /g; s/^ //; s/\\t /\\t/g'",
        )
