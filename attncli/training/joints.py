"""What an annex can replace in a run: how it starts, and its processes.

In the core a run starts with new weights, in one process. An annex adds the start from a trained
model; a run that continues has its own checkpoint, and asks none of this again. Another adds a
world of several processes, whose parts of an update and of an evaluation are added up; every
process makes the same calls.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.core.annexes import need_part
from models.core.errors import ResourceError
from models.networks.image_encoder import ImageEncoder, pretrained_encoder

if TYPE_CHECKING:
    from pathlib import Path

    from torch import nn

    from attncli.training.config import RunConfig
    from attncli.training.interfaces import Compared, Report
    from models.networks.encoder_decoder import EncoderDecoder
    from models.text.tokenizer import Tokenizer


class ProcessLost(ResourceError):
    """Another process of the run ended, or did not answer in time."""


class World:
    """A world of one process, which exchanges nothing."""

    number, size = 0, 1

    def __enter__(self) -> World:
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the run."""

    def own_device(self, device: str) -> str:
        """Return the device of this process, where several have one GPU each."""
        return device

    def begin(self, folder: Path) -> None:
        """Let the others join the run of a folder; for process 0."""

    def first(self, value: float) -> float:
        """Return the value of process 0."""
        return float(value)

    def total(self, values: Sequence[float]) -> list[float]:
        """Return the sums of the values over the processes."""
        return [float(value) for value in values]

    def gather(self, content: bytes) -> list[bytes]:
        """Return the bytes of every process."""
        return [content]

    def adding(self, module: nn.Module) -> nn.Module:
        """Return the module with gradients that are the means over the processes."""
        return module

    @contextlib.contextmanager
    def losses(self) -> Iterator[None]:
        """Raise ProcessLost for an exchange in this `with` block that fails or takes too long."""
        yield


ALONE = World()


class Start:
    """New weights; those of an image network may be pretrained."""

    def check(self, config: RunConfig) -> None:
        """Raise ModelError for settings that do not fit the initial model, before data are read."""

    def fill(self, model: EncoderDecoder, tokenizer: Tokenizer) -> None:
        """Fill a new model with its initial weights."""
        if encoder := pretrained_encoder(model):
            encoder.load_pretrained()
            labels = getattr(encoder, "labels", None)  # of an image network that names its images
            if labels is not None:
                labels.set_nouns(lambda noun: tokenizer.encode_target(noun)[:-1])

    def fill_encoder(self, encoder: ImageEncoder, name: str) -> None:
        """Fill an encoder alone with the weights that `fill` would give it.

        name: of the encoder in the model, such as encoder.image.
        """
        encoder.load_pretrained()

    def compared(self, run: Any, report: Report) -> Compared | None:
        """Return what the model learned and forgot at the end of a Run; None of new weights."""
        return None

    def is_compared(self, folder: Path, step: int) -> bool:
        """Return True unless a finished run was interrupted before its comparison.

        step: update of its final model.
        """
        return True

    def compared_outputs(self, dev: int, replay: int) -> int:
        """Return how many outputs the comparison computes, from the sizes of both sets."""
        return 0


FRESH = Start()


def start_of(start_from: str) -> Start:
    """Return the start of a run from the folder of its initial model; "" for new weights."""
    if not start_from:
        return FRESH
    found: Start = need_part("start", "model", f"the initial model {start_from}")(start_from)
    return found
