"""Advice on the settings to change where a training exhausts the memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from attncli.training.settings.config import TrainConfig
from models.base.errors import ModelError


@contextmanager
def memory_advice(config: TrainConfig) -> Iterator[None]:
    """Raise a ModelError that names the settings to change if memory is exhausted."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if explained := out_of_memory(error, config):
            raise explained from None
        raise


def out_of_memory(error: Exception, config: TrainConfig) -> ModelError | None:
    """Return a ModelError for exhausted memory; None for any other error."""
    said = str(error).lower()
    if not isinstance(error, MemoryError) and not any(
        sign in said for sign in ("out of memory", "can't allocate memory", "not enough memory")
    ):
        return None
    return ModelError(
        "the memory is exhausted",
        "smaller batches",
        f"lower train.batch_tokens (now {config.batch_tokens}), or raise train.shards (now "
        f"{config.shards}), which computes an update in parts; and choose another -o",
    )
