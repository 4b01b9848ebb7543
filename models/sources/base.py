"""The interface of a kind of input. No module in this package imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from pkgutil import resolve_name
from typing import Any, ClassVar

from models.base.errors import ConfigurationError
from models.base.types import VocabularySizes


class Source:
    """One kind of input: its vocabulary, and the class that runs a trained model on it."""

    task: ClassVar[str]  # the command that runs such a model: "translate"
    ability: ClassVar[str]  # for messages: "translates texts"
    runner: ClassVar[str]  # module:Class, built from (bundle, device) or by `read(folder)`
    shared_weights: ClassVar[str] = ""  # prefix of weights that models may share; empty: none
    graph_inputs: ClassVar[str] = ""  # module:Class, inputs of ONNX graphs; empty: no export
    ensemble: ClassVar[str] = ""  # module:Class, built from several runners; empty: there is none
    has_columns: ClassVar[bool] = False  # True if a line of input is a row of several columns
    unused_settings: ClassVar[tuple[str, ...]] = ()  # of search and tokenizer, without effect

    def vocabulary(self, sizes: VocabularySizes) -> VocabularySizes:
        """Return the vocabulary sizes of a model, given those of its tokenizer."""
        return sizes

    def open(self, folder: Any, *, device: str = "cpu") -> Any:
        """Return the trained model in a folder, ready to use. Imports torch."""
        return resolve_name(self.runner).read(folder, device=device)

    def open_ensemble(self, folders: Sequence[Any], *, device: str = "cpu") -> Any:
        """Return the ensemble of the models in several folders. Imports torch.

        Raises ConfigurationError for models that cannot work together.
        """
        if not self.ensemble:
            raise ConfigurationError(
                f"{len(folders)} models, each of which {self.ability}",
                "one model: there are no ensembles of this kind",
            )
        members = [self.open(folder, device=device) for folder in folders]
        return resolve_name(self.ensemble)(members, [str(folder) for folder in folders])
