"""Every score as its formula, in plain loops: one entry per score.

A formula is called with the query s, the value h of slot i, the previous weights, and the score,
whose parameters it reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Vector = list[float]
Formula = Callable[[Vector, Vector, int, Vector, Any], float]


def dot(a: Vector, b: Vector) -> float:
    assert len(a) == len(b)
    return sum(x * y for x, y in zip(a, b, strict=True))


def times(matrix: Tensor, vector: Vector) -> Vector:
    return [dot(row, vector) for row in matrix.tolist()]


def softmax(scores: Vector) -> Vector:
    powers = [math.exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


def additive(s: Vector, h: Vector, i: int, previous: Vector, score: Any) -> float:
    inner = zip(times(score.query.weight, s), times(score.key.weight, h), strict=True)
    biases = score.key.bias.tolist()
    return dot(
        score.energy.tolist(),
        [math.tanh(a + b + c) for (a, b), c in zip(inner, biases, strict=True)],
    )


def concat(s: Vector, h: Vector, i: int, previous: Vector, score: Any) -> float:
    side_by_side = torch.cat([score.query.weight, score.key.weight], 1)  # W
    return dot(score.energy.tolist(), [math.tanh(x) for x in times(side_by_side, s + h)])


def cosine(s: Vector, h: Vector, i: int, previous: Vector, score: Any) -> float:
    key = s if isinstance(score.query, torch.nn.Identity) else times(score.query.weight, s)
    sharpness = dot(score.sharpness.weight[0].tolist(), s) + float(score.sharpness.bias.detach())
    angle = dot(key, h) / math.sqrt(dot(key, key) * dot(h, h))
    return math.log1p(math.exp(sharpness)) * angle


def qk_norm(s: Vector, h: Vector, i: int, previous: Vector, score: Any) -> float:
    return float(score.scale) * dot(s, h) / math.sqrt(dot(s, s) * dot(h, h))


def location(s: Vector, h: Vector, i: int, previous: Vector, score: Any) -> float:
    return times(score.logits.weight, s)[i]


def location_aware(s: Vector, h: Vector, i: int, previous: Vector, score: Any) -> float:
    filters = score.convolution.weight[:, 0].tolist()
    reach = len(filters[0]) // 2
    features = [
        sum(
            f[j] * previous[i + j - reach]
            for j in range(len(f))
            if 0 <= i + j - reach < len(previous)
        )
        for f in filters
    ]
    inner = zip(
        times(score.query.weight, s),
        times(score.key.weight, h),
        times(score.feature.weight, features),
        score.key.bias.tolist(),
        strict=True,
    )
    return dot(score.energy.tolist(), [math.tanh(sum(parts)) for parts in inner])


def ffn(s: Vector, h: Vector, i: int, previous: Vector, score: Any) -> float:
    first = torch.cat([score.query.weight, score.key.weight], 1)  # W_1
    hidden = [
        math.tanh(a + b) for a, b in zip(times(first, s + h), score.key.bias.tolist(), strict=True)
    ]
    for layer in score.layers:
        hidden = [
            math.tanh(a + b)
            for a, b in zip(times(layer.weight, hidden), layer.bias.tolist(), strict=True)
        ]
    return dot(score.energy.weight[0].tolist(), hidden)


FORMULAS: dict[str, Formula] = {
    "additive": additive,
    "concat": concat,
    "dot": lambda s, h, i, previous, score: dot(s, h),
    "scaled_dot": lambda s, h, i, previous, score: dot(s, h) / math.sqrt(len(h)),
    "general": lambda s, h, i, previous, score: dot(s, times(score.key.weight, h)),
    "cosine": cosine,
    "qk_norm": qk_norm,
    "location": location,
    "location_aware": location_aware,
    "ffn": ffn,
}
