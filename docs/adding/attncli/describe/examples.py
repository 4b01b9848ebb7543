"""Rows of numbers and texts in batches, and the dev set. Imports torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from attncli.describe.rows import NumberRow
from attncli.describe.training import NumberTraining
from attncli.scoring.sequences import exact_match
from attncli.training.config import TrainConfig
from attncli.training.dev import Data, Decode, DevSet
from attncli.training.examples import Examples
from attncli.training.interfaces import Progress, Scores
from attncli.training.tokens import Dropped
from models.core.files import write_folder
from models.core.types import Batch
from models.engines.describer import Describer
from models.networks.bundle import Bundle
from models.networks.encoder_decoder import EncoderDecoder
from models.search.batching import pad, teacher_forcing_batch
from models.text.tokenizer import Tokenizer, train


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
class NumberExamples(Examples):
    """Rows of numbers to train on."""

    rows: list[NumberRow]
    tokenizer: Tokenizer

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (N,): 0 for every row, and the number of tokens of every text."""
        ids = [len(self.tokenizer.encode_target(row.text)) for row in self.rows]
        return np.zeros(len(ids), np.int64), np.array(ids)

    def batch(self, numbers: np.ndarray) -> Batch:
        """Return the examples of these numbers, padded."""
        return batch_of([self.rows[n] for n in numbers], self.tokenizer)


class DevNumbers(DevSet):
    """Rows of numbers that are described and scored; each is a source with its text."""

    metric, limited = "exact", False

    @classmethod
    def of(cls, rows: list[NumberRow]) -> DevNumbers:
        """Return rows as a set to evaluate."""
        return cls(rows, [[row.text] for row in rows])

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Yield the batch for the loss."""
        yield batch_of(self.sources, tokenizer, next(model.parameters()).device)

    def decoder(self, bundle: Bundle, device: str) -> Decode:
        """Return the function that describes the rows of some numbers."""
        describer = Describer(bundle, device)
        return lambda numbers: describer.describe([self.sources[n].numbers for n in numbers])

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """Return the share of exact texts, and the loss."""
        return Scores(loss, exact=exact_match(outputs, self.references))


def test_set(source: NumberTraining, files: Sequence[Path], progress: Progress) -> DevNumbers:
    """Return the rows of a test set."""
    return DevNumbers.of(source.data.rows(files))


def load(source: NumberTraining, folder: Path, progress: Progress) -> Data:
    """Read the files; an empty folder `data` marks the run as prepared."""
    rows, dev = source.data.rows(source.data.train), source.data.rows(source.data.dev)
    tokenizer = train([row.text for row in rows], [], 290, source.tokenizer)
    if not (folder / "data").exists():
        write_folder(folder / "data", lambda part: None)
    examples = NumberExamples(rows, tokenizer)
    return Data(tokenizer, examples, Dropped(0, 0), DevNumbers.of(dev) if dev else None)
