"""The type of the fixture `attn`: the command line in the process of the tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Attn = Callable[..., Any]  # words and the exit status: what was written, `out` and `err`
