"""Rows of numbers and texts in batches, and the dev set. Imports torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from attncli.describe.rows import DescribeRunner, NumberRow
from attncli.scoring.sequences import exact_match
from attncli.task.panels import ShownExample
from attncli.training.interfaces import Report, Scores
from attncli.training.settings.config import TrainConfig
from models.core.config import ModelConfig
from models.core.types import Batch
from models.engines.describer import Describer
from models.networks.bundle import Bundle
from models.networks.encoder_decoder import EncoderDecoder
from models.search.batching import pad, teacher_forcing_batch
from models.text.tokenizer import Tokenizer


def batch_of(
    rows: Sequence[NumberRow], tokenizer: Tokenizer, device: torch.device | None = None
) -> Batch:
    """Return some rows as a batch for teacher forcing."""
    device = device or torch.device("cpu")
    source = torch.tensor([row.numbers for row in rows], device=device)  # (B, S)
    ids = [tokenizer.encode_target(row.text) for row in rows]
    mask = torch.ones_like(source, dtype=torch.bool)
    return teacher_forcing_batch(source, mask, *pad(ids, device))


@dataclass(frozen=True)
class NumberExamples:
    """Rows of numbers to train on."""

    rows: list[NumberRow]
    tokenizer: Tokenizer
    shared = None  # no example has to share a batch with another

    @property
    def count(self) -> int:
        """Number of examples."""
        return len(self.rows)

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (N,): 0 for every row, and the number of tokens of every text."""
        ids = [len(self.tokenizer.encode_target(row.text)) for row in self.rows]
        return np.zeros(self.count, np.int64), np.array(ids)

    def at(self, epoch: int) -> NumberExamples:
        """Return the examples of an epoch: the same in every epoch."""
        return self

    def batch(self, numbers: np.ndarray) -> Batch:
        """Return the examples of these numbers, padded."""
        return batch_of([self.rows[n] for n in numbers], self.tokenizer)


@dataclass(frozen=True)
class DevNumbers:
    """Rows of numbers that are described and scored."""

    rows: list[NumberRow]

    def __len__(self) -> int:
        return len(self.rows)

    def default_metric(self) -> str:
        """Return the metric for train.metric = auto."""
        return "exact"

    def too_long(self, tokenizer: Tokenizer, config: ModelConfig) -> int:
        """Return 0: every row has the same size."""
        return 0

    def encoded_by(self, model: EncoderDecoder, report: Report) -> DevNumbers:
        """Return the set unchanged: there are no features to compute once."""
        return self

    def some(self, numbers: list[int]) -> DevNumbers:
        """Return the set with the rows of these numbers only."""
        return DevNumbers([self.rows[n] for n in numbers])

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Yield the batch for the loss."""
        yield batch_of(self.rows, tokenizer, next(model.parameters()).device)

    def outputs(self, bundle: Bundle, device: str, report: Report) -> list[str]:
        """Return the text for each row."""
        [found] = DescribeRunner(Describer(bundle, device)).run([self.rows])
        return found

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """Return the share of exact texts, and the loss."""
        return Scores(loss, exact=exact_match(outputs, [[row.text] for row in self.rows]))

    def samples(self, bundle: Bundle, device: str, count: int) -> list[ShownExample]:
        """Return the first rows with their outputs, for the page of samples."""
        some = self.some([*range(min(count, len(self)))])
        found = zip(some.rows, some.outputs(bundle, device, lambda share: None), strict=True)
        return [ShownExample(str(row.numbers), row.text, text) for row, text in found]
