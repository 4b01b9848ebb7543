"""Every pooling equals its formula in plain loops; a text gives the same alone and in a batch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from models.attention.pooling import Pooling, final_state
from models.core.attention_config import AttentionConfig
from models.core.config import ModelConfig
from models.core.registry import find, names
from models.core.settings import from_dict, to_dict
from models.core.types import Memory
from tests.models.attention.formulas import FORMULAS, softmax, times
from tests.models.mechanisms import combinations
from tests.models.small import add_noise

SIZE = 4
LENGTHS = (3, 5, 1)
POOLINGS = names("pooling")
ATTENTIVE = [name for name in POOLINGS if find("pooling", name).attends]
Vector = list[float]


def memory() -> Memory:
    """Return slots of several texts, garbage in the padding."""
    torch.manual_seed(2)
    longest = max(LENGTHS)
    values = torch.randn(len(LENGTHS), longest, SIZE)
    mask = torch.arange(longest) < torch.tensor(LENGTHS)[:, None]
    values = torch.where(mask[..., None], values, 100.0)
    return Memory(values, mask, torch.randn(len(LENGTHS), 2 * SIZE))


def pooling(name: str, **attention: Any) -> Pooling:
    torch.manual_seed(1)
    values = {"family": "classifier", "pooling": name, "attention": attention}
    made: Pooling = find("pooling", name)(SIZE, from_dict(ModelConfig, values))
    add_noise(made, 0.3)
    return made.eval()


def mixed(weights: Vector, slots: list[Vector]) -> Vector:
    return [sum(w * slot[v] for w, slot in zip(weights, slots, strict=True)) for v in range(SIZE)]


def attended(query: Vector, keys: list[Vector], score: Any, name: str) -> Vector:
    """Return the weights of one query over keys, with the formula of a score."""
    uniform = [1 / len(keys)] * len(keys)
    return softmax([FORMULAS[name](query, key, i, uniform, score) for i, key in enumerate(keys)])


def by_learned(made: Any, slots: list[Vector], final: Vector, score: str) -> Vector:
    return mixed(attended(made.query[0, 0].tolist(), slots, made.attention.score, score), slots)


def by_final(made: Any, slots: list[Vector], final: Vector, score: str) -> Vector:
    return mixed(attended(final[-SIZE:], slots, made.attention.score, score), slots)


def by_mean(made: Any, slots: list[Vector], final: Vector, score: str) -> Vector:
    return mixed([1 / len(slots)] * len(slots), slots)


def by_max(made: Any, slots: list[Vector], final: Vector, score: str) -> Vector:
    return [max(slot[v] for slot in slots) for v in range(SIZE)]


def by_self_attentive(made: Any, slots: list[Vector], final: Vector, score: str) -> Vector:
    keys = [[math.tanh(x) for x in times(made.key.weight, slot)] for slot in slots]
    found: Vector = []
    for query in made.queries[0].tolist():
        found += mixed(attended(query, keys, made.attention.score, score), slots)
    return found


BY_LOOPS: dict[str, Callable[[Any, list[Vector], Vector, str], Vector]] = {
    "learned": by_learned,
    "final": by_final,
    "mean": by_mean,
    "max": by_max,
    "self_attentive": by_self_attentive,
}


@pytest.mark.parametrize("score", names("score"))
@pytest.mark.parametrize("name", POOLINGS)
def test_a_pooling_equals_its_formula_in_plain_loops(name: str, score: str) -> None:
    texts = memory()
    made = pooling(name, score=score, heads=2 if name == "self_attentive" else 1)
    with torch.no_grad():
        found = made(texts).context
        assert texts.final is not None
        for row, length in enumerate(LENGTHS):
            slots, final = texts.values[row, :length].tolist(), texts.final[row].tolist()
            wanted = BY_LOOPS[name](made, slots, final, score)
            torch.testing.assert_close(found[row, 0], torch.tensor(wanted), atol=1e-4, rtol=1e-4)


def alone(texts: Memory, row: int) -> Memory:
    length = int(texts.mask[row].sum())
    assert texts.final is not None
    return Memory(
        texts.values[row : row + 1, :length],
        texts.mask[row : row + 1, :length],
        texts.final[row : row + 1],
        key=None if texts.key is None else texts.key[row : row + 1],
    )


@pytest.mark.parametrize("name", POOLINGS)
@torch.no_grad()
def test_a_text_alone_equals_the_text_in_a_batch_with_every_attention(name: str) -> None:
    texts = memory()._replace(key=torch.tensor([5, 700, 90]))
    kinds = itertools.product(names("score"), names("window")) if name in ATTENTIVE else ()
    for config in (AttentionConfig.of(), *(one for kind in kinds for one in combinations(*kind))):
        made = pooling(name, **to_dict(config))
        together = made(texts)
        for row, length in enumerate(LENGTHS):
            single = made(alone(texts, row))
            pairs = {"context": (single.context[0], together.context[row])}
            pairs["weights"] = single.weights[0], together.weights[row, :, :length]
            for one, other in pairs.values():
                torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5, msg=str(config))
            assert (together.weights[row, :, length:] == 0).all(), config


@pytest.mark.parametrize("name", ATTENTIVE)
def test_weights_and_values_make_the_context(name: str) -> None:
    made, texts = pooling(name, heads=2), memory()
    found, values = made(texts), made.read_values(texts)  # (B, H, S, P)
    summed = torch.einsum("bths,bhsp->btp", found.heads, values)
    torch.testing.assert_close(summed, found.context, atol=1e-4, rtol=1e-4)


def test_the_final_state_of_an_encoder_without_recurrence_is_its_last_slot() -> None:
    texts = memory()._replace(final=None)
    last = [texts.values[row, length - 1] for row, length in enumerate(LENGTHS)]
    assert torch.equal(final_state(texts), torch.stack(last))
