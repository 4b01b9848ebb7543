"""Trained models in use: what all of them share. torch is imported when one is built."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from models.core.errors import ConfigurationError, InputError
from models.core.sources import check_source
from models.core.types import CopiedByValues, Hypothesis
from models.core.use_config import SearchConfig
from models.search.repeats import different_texts
from models.storage.settings import family_of, read_settings
from models.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self

    from models.networks.bundle import Bundle
    from models.networks.encoder_decoder import EncoderDecoder
    from models.search.hypotheses import Finished
    from models.search.steering import Steering


T = TypeVar("T")


class TrainedModel(CopiedByValues):
    """A trained model in use, run by any engine."""

    tokenizer: Tokenizer
    search: SearchConfig  # default settings

    def __reduce__(self) -> NoReturn:
        """Raise InputError: a model is sent to another process by its folder, unpickled."""
        raise InputError(
            "a model that is pickled", "its folder or name", "open it in the other process by load"
        )

    def with_search(self, search: SearchConfig) -> Self:
        """Return this model with other default search settings; the weights are shared."""
        other = copy.copy(self)
        other.search = search
        return other

    @property
    def read_mode(self) -> str:
        """Read mode of the attention: "soft", "hard argmax", "hard sample" or "hard expected"."""
        return "soft"

    @property
    def why_unsteered(self) -> str:
        """Why no look can steer the attention; "" if one can."""
        return ""

    def with_read_mode(self, decode: str, *, seed: int = 1) -> Self:
        """Raise ConfigurationError, because the attention is not hard."""
        raise ConfigurationError(
            f"attention read by {decode} of a model that is not hard",
            "a model trained with model.attention.read=hard",
            "leave the choice out",
        )

    def _lists(
        self,
        search: Callable[[Sequence[T], SearchConfig], list[list[Finished]]],
        inputs: Sequence[T],
        config: SearchConfig,
    ) -> list[tuple[Hypothesis, ...]]:
        """Return the outputs of inputs, best first, with different texts.

        search: returns the finished hypotheses of some of the inputs; the first call is for all.
        """

        def outputs(numbers: Sequence[int], config: SearchConfig) -> list[list[Hypothesis]]:
            found = search([inputs[number] for number in numbers], config)
            return [[self._hypothesis(one) for one in each] for each in found]

        # a constrained search divides its beam by phrases, so its first output depends on the width
        has_glossary = getattr(self, "glossary", None) is not None
        return different_texts(outputs, len(inputs), config, depends_on_nbest=has_glossary)

    def _hypothesis(self, found: Finished) -> Hypothesis:
        """Return an output of the search as text, tokens and scores."""
        return Hypothesis(
            text=self.tokenizer.decode(found.ids),
            score=found.score,
            log_prob=found.log_prob,
            tokens=self.tokenizer.pieces(found.ids),
            ids=found.ids,
            truncated=found.truncated,
            free=found.free,
        )


def usable_devices() -> list[str]:
    """Return the kinds of device that this machine has, the fastest first. Imports torch."""
    import torch

    usable = ["cuda"] if torch.cuda.is_available() else []
    usable += ["mps"] if torch.backends.mps.is_available() else []
    return [*usable, "cpu"]


def usable_device(name: str) -> torch.device:
    """Return a device, for auto the fastest; raise ConfigurationError for one that is missing."""
    import torch

    usable = usable_devices()
    name = usable[0] if name == "auto" else name
    if str(name).partition(":")[0] not in usable:
        found = f"device '{name}', which this machine does not have"
        raise ConfigurationError(found, " or ".join(usable))
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigurationError(
            f"device '{name}' of a machine with {torch.cuda.device_count()} GPUs", "a lower number"
        )
    return device


def check_looks(model: TrainedModel, steerings: Iterable[Steering]) -> None:
    """Raise InputError for a look that cannot steer a model."""
    if any(one.looks for one in steerings) and (reason := model.why_unsteered):
        raise InputError(f"a look with {reason}", "a model whose attention can be steered")


class TorchModel(TrainedModel):
    """A trained model in use, run by torch on a device."""

    source: ClassVar[str]  # kind of input that it reads
    model: EncoderDecoder
    config: Any  # the Config of its family
    device: torch.device

    def __init__(self, bundle: Bundle, device: str = "cpu") -> None:
        check_source(bundle.model.config.family, self.source)
        self.device = usable_device(device)
        self.model = bundle.model.to(self.device).eval()
        self.config = self.model.config
        self.tokenizer, self.search = bundle.tokenizer, bundle.search

    @classmethod
    def read(cls, folder: str | Path, *, device: str = "cpu") -> Self:
        """Read the model of a bundle folder; a ModelError if it reads another kind of input."""
        from models.networks.bundle import read

        folder = Path(folder)
        check_source(family_of(read_settings(folder)), cls.source, folder.name)
        return cls(read(folder), device)

    @property
    def read_mode(self) -> str:
        """Read mode of the attention: "soft", "hard argmax", "hard sample" or "hard expected"."""
        return self.model.read_mode

    @property
    def why_unsteered(self) -> str:
        """Why no look can steer the attention; "" if one can."""
        return self.model.why_unsteered

    def with_read_mode(self, decode: str, *, seed: int = 1) -> Self:
        """Return this model with another read mode of its hard attention; the weights are shared.

        decode: argmax, sample or expected. seed: of the samples. Raises ModelError if the
        attention is not hard.
        """
        other = copy.copy(self)
        other.model = self.model.with_read_mode(decode, seed=seed)
        return other
