"""Rows of numbers and texts in batches, and the dev set. Imports torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from attncli.describe.rows import NumberRow
from attncli.describe.training import NumberTraining
from attncli.training.dev import Data, Decode, DevSet
from attncli.training.examples import SameSize, Side, Table
from attncli.training.interfaces import Progress
from attncli.training.tokens import Dropped
from models.core.files import write_folder
from models.core.types import Batch
from models.engines.describer import Describer
from models.networks.bundle import Bundle
from models.networks.encoder_decoder import EncoderDecoder
from models.text.tokenizer import Tokenizer, train


def examples_of(rows: Sequence[NumberRow], tokenizer: Tokenizer) -> Table:
    """Return rows of numbers and their texts as examples."""
    numbers = np.array([row.numbers for row in rows], np.float32)  # (N, S)
    return Table(SameSize(numbers), Side.of([tokenizer.encode_target(row.text) for row in rows]))


class DevNumbers(DevSet):
    """Rows of numbers that are described and scored; each is a source with its text."""

    metric, limited = "exact", False

    @classmethod
    def of(cls, rows: list[NumberRow]) -> DevNumbers:
        """Return rows as a set to evaluate."""
        return cls(rows, [[row.text] for row in rows])

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Yield the batch for the loss, on the model's device."""
        device = next(model.parameters()).device
        batch = examples_of(self.sources, tokenizer).batch(np.arange(len(self)))
        yield batch.map(lambda part: part.to(device))

    def decoder(self, bundle: Bundle, device: str) -> Decode:
        """Return the function that describes the rows of some numbers."""
        describer = Describer(bundle, device)
        return lambda numbers: describer.describe([self.sources[n].numbers for n in numbers])


def test_set(source: NumberTraining, files: Sequence[Path], progress: Progress) -> DevNumbers:
    """Return the rows of a test set."""
    return DevNumbers.of(source.data.rows(files))


def load(source: NumberTraining, folder: Path, progress: Progress) -> Data:
    """Read the files; an empty folder `data` marks the run as prepared."""
    rows, dev = source.data.rows(source.data.train), source.data.rows(source.data.dev)
    tokenizer = train([row.text for row in rows], [], 290, source.tokenizer)
    if not (folder / "data").exists():
        write_folder(folder / "data", lambda part: None)
    examples = examples_of(rows, tokenizer)
    return Data(tokenizer, examples, Dropped(0, 0), DevNumbers.of(dev) if dev else None)
