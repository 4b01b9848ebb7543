"""Examples of the dev set with a model's outputs, recorded at evaluations of a training run."""

from __future__ import annotations

from typing import NamedTuple


class ShownExample(NamedTuple):
    """A dev example and the model's output for it."""

    source: str  # a text, or the name of an image
    reference: str
    output: str
    image: str = ""  # data URL of a small copy of the image; "" for texts
    attention: str = ""  # HTML of an attention map; "" for none


class SampledEvaluation(NamedTuple):
    """The samples of one evaluation."""

    step: int  # updates done
    score: str  # with its name, as in "BLEU 31.20"
    samples: tuple[ShownExample, ...]


def spread(total: int, count: int) -> list[int]:
    """Return at most `count` indices below `total`, evenly spaced from 0."""
    count = min(count, total)
    return [number * total // count for number in range(count)]
