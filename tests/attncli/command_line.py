"""The command line in the process of the tests: the type of the fixture `attn`, and scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

Attn = Callable[..., Any]  # words, status and stdin: what was written, `out` and `err`


def evaluated(attn: Attn, *words: object) -> dict[str, Any]:
    """Return the systems of `attn evaluate --json` with more words, by name."""
    systems = json.loads(attn("evaluate", *words, "--json").out)["systems"]
    return {system["name"]: system for system in systems}


def flags(settings: Iterable[str]) -> list[str]:
    """Return settings as the words of a command line."""
    return [word for setting in settings for word in ("-s", setting)]
