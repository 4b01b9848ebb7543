"""The interface of a kind of input. No module in this package imports torch."""

from __future__ import annotations

import importlib
from typing import Any, ClassVar

from models.types import VocabularySizes


class Source:
    """One kind of input: its vocabulary, and the class that runs a trained model on it."""

    task: ClassVar[str]  # the command that runs such a model: "translate"
    ability: ClassVar[str]  # for messages: "reads texts"
    runner: ClassVar[str]  # module:Class, built from (bundle, device) or by `read(folder)`

    def vocabulary(self, sizes: VocabularySizes) -> VocabularySizes:
        """Return the vocabulary sizes of a model, given those of its tokenizer."""
        return sizes

    def open(self, folder: Any, *, device: str = "cpu") -> Any:
        """Return the trained model in a folder, ready to use. Imports torch."""
        module, _, name = self.runner.partition(":")
        return getattr(importlib.import_module(module), name).read(folder, device=device)
