"""Training data that the program generates itself: a grammar of sentence pairs, drawn scenes."""

from __future__ import annotations

from typing import Any, NamedTuple


class Splits(NamedTuple):
    """Examples for training, and two held-out sets without training examples."""

    train: list[Any]
    dev: list[Any]
    test: list[Any]
