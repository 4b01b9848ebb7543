"""Rows of several inputs: two texts, or a text and an image."""

from __future__ import annotations

import torch

from models.core.types import Batch
from models.search.batching import pad_pairs
from models.text.tokenizer import END

ROWS = [[4, 5, END, 6, END], [7, END, 8, 9, 10, 11, END], [12, 13, 14, END, 15, 16, END]]
TARGETS = [[5, 6, 7, END], [8, END], [9, 10, 11, 12, 13, END]]
TEXTS = ("source", "draft")
WITH_IMAGE = ("source", "picture:image")


def batch_of(inputs: tuple[str, ...], numbers: range = range(3)) -> Batch:
    rows = [ROWS[n] for n in numbers]
    if inputs == WITH_IMAGE:  # one text each
        rows = [[token for token in row if token != END] + [END] for row in rows]
    batch = pad_pairs(rows, [TARGETS[n] for n in numbers], torch.device("cpu"))
    if inputs == WITH_IMAGE:
        pictures = torch.rand(3, 3, 32, 32, generator=torch.Generator().manual_seed(1))
        batch = batch._replace(images=pictures[list(numbers)])
    return batch
