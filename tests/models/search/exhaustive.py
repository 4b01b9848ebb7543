"""Search by brute force: every output of a tiny vocabulary."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from models.core.registry import source_name
from models.core.types import Batch, Memory
from models.core.use_config import SearchConfig
from models.networks.encoder_decoder import EncoderDecoder
from models.search.beam import search
from models.search.hypotheses import Finished
from models.text.tokenizer import END, START
from tests.models import small
from tests.models.small import FIRST_WORD, TEXT_PRESETS, imaged, sources

one_of_each_family = pytest.mark.parametrize("preset", small.one_of_each_family(TEXT_PRESETS))
WORDS = 3  # of the tiny vocabulary


def memory_of(model: EncoderDecoder, *lengths: int) -> Memory:
    vocabulary = model.output.bias.shape[0]
    source, mask = sources(*lengths, vocabulary=vocabulary)
    return model.encode(fitting(model, source), mask)


def fitting(model: EncoderDecoder, ids: Tensor) -> Tensor:
    """Source ids as the model reads them."""
    return imaged(ids) if source_name(model.config.family) in ("image", "audio") else ids


def outputs(
    model: EncoderDecoder, lengths: list[int], limit: int, config: SearchConfig
) -> list[list[Finished]]:
    """Return what search finds for sources of these lengths, each with its own key."""
    memory = memory_of(model, *lengths)
    return search(model, memory, [limit] * len(lengths), [f"s{n}" for n in lengths], config)


def log_prob_of(model: EncoderDecoder, lengths: list[int], row: int, ids: tuple[int, ...]) -> float:
    """Log-probability of an output and its end mark, by teacher forcing."""
    vocabulary = model.output.bias.shape[0]
    source, mask = (part[row : row + 1] for part in sources(*lengths, vocabulary=vocabulary))
    target_in, target = torch.tensor([[START, *ids]]), torch.tensor([[*ids, END]])
    source = fitting(model, source)
    forced = model.teacher_force(Batch(source, mask, target_in, target, target > 0))
    log_probs = model.output(forced.features).log_softmax(-1)
    return float(log_probs.gather(2, target[..., None]).sum())


def every_output(
    model: EncoderDecoder, lengths: list[int], row: int, alpha: float
) -> list[Finished]:
    """All outputs of up to 4 pieces, end mark included, best first."""
    words = range(FIRST_WORD, FIRST_WORD + WORDS)
    found = []
    for length in range(4):
        for ids in itertools.product(words, repeat=length):
            log_prob = log_prob_of(model, lengths, row, ids)
            found.append(Finished(ids, log_prob, log_prob / ((5 + length + 1) / 6) ** alpha))
    return sorted(found, key=lambda f: -f.score)


def agree(one: list[Finished], other: list[Finished]) -> None:
    assert [found.ids for found in one] == [found.ids for found in other]
    for a, b in zip(one, other, strict=True):
        assert a[1:3] == pytest.approx(b[1:3], abs=1e-4)
