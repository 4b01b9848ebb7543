"""Captioned pictures to train on: each caption an example, those of one picture sharing its row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from attncli.data.tokens import Side, forced
from models.types import Batch


@dataclass(frozen=True)
class CaptionExamples:
    """Captions, and the features of their pictures in a memory-mapped table."""

    target: Side
    rows: np.ndarray  # (N,) which row of the table each caption's picture is
    table: np.ndarray  # (rows, S, V)

    @property
    def count(self) -> int:
        """Number of captions."""
        return len(self.rows)

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """0 for every picture, and the pieces of every caption (N,)."""
        return np.zeros(self.count, np.int64), self.target.lengths

    def batch(self, numbers: np.ndarray) -> Batch:
        """The padded batch of some captions with their pictures' features."""
        return seen(self.table, self.rows[numbers], self.target.padded(numbers))


def seen(table: np.ndarray, rows: np.ndarray, target: tuple[Tensor, Tensor]) -> Batch:
    """A batch of the table's rows (B,), as they are there, and target ids and mask (B, T)."""
    source = torch.from_numpy(np.ascontiguousarray(table[rows]))  # (B, S, V)
    return forced(source, torch.ones(source.shape[:2], dtype=torch.bool), *target)
