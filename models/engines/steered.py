"""Steered search of one model in torch, and what its attention then reads. Imports torch."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from models.core.types import Memory
from models.core.use_config import SearchConfig
from models.engines._steering import SteeredBackend, TargetWords, with_looks
from models.engines.trained import TorchModel, check_looks
from models.search.beam import search
from models.search.hypotheses import Finished
from models.search.prefix import PLAIN, Steering, TargetPrefix


def steered_search(
    model: TorchModel,
    memory: Memory,
    limits: list[int],
    keys: list[str],
    config: SearchConfig,
    steering: Sequence[Steering],
) -> list[list[Finished]]:
    """Return the best outputs of each input; see `models.search.beam.search`.

    steering: of each input; places of looks are slots.
    """
    if all(one == PLAIN for one in steering):
        return search(model.model, memory, limits, keys, config)
    check_looks(model, steering)
    backend = backend_of(model, steering)
    pairs = zip(limits, backend.prefixes, strict=True)
    # the limit is of what the model writes behind the prefix
    limits = [limit + len(prefix.ids) for limit, prefix in pairs]
    memory = with_looks(memory, backend.looks)
    return search(backend, memory, limits, keys, config)


def backend_of(model: TorchModel, steering: Sequence[Steering]) -> SteeredBackend:
    """Return the model whose outputs are steered."""
    prefixes = [TargetPrefix.of(one.prefix, model.tokenizer) for one in steering]
    vocabulary = TargetWords.of(model.tokenizer, model.device)
    return SteeredBackend(model.model, prefixes, [one.looks for one in steering], vocabulary)


def looked_at(
    model: TorchModel, memory: Memory, steering: Sequence[Steering], target: Tensor
) -> Memory:
    """Return a memory whose slots are those of the looks when outputs (B, T) are computed."""
    if not any(one.looks for one in steering):
        return memory
    backend = backend_of(model, steering)
    memory = with_looks(memory, backend.looks)
    assert memory.looks is not None
    return memory._replace(looks=memory.looks._replace(number=backend.numbers(target)))
