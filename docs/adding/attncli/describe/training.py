"""Training on rows of numbers and texts: lines `a b c TAB text`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attncli.data.tokens import Dropped
from attncli.describe.rows import read_rows
from attncli.training.dev import Data, DevSet
from attncli.training.interfaces import Progress
from attncli.training.settings.config import DataConfig
from attncli.training.sources import Comparison, TrainingSource
from models.core.files import write_folder
from models.core.settings import option
from models.text.tokenizer import train


@dataclass(frozen=True)
class NumberData(DataConfig):
    """Files of rows of numbers."""

    train: tuple[str, ...] = option((), "rows of numbers, tab, text")
    dev: tuple[str, ...] = option((), "the same, for evaluation during training")


class NumberTraining(TrainingSource):
    """Training on rows of numbers."""

    unit = "rows"
    length_limits = "data.max_length"
    demo_name = "numbers"
    embedded = "no data"
    default_preset = "numbers-nano"
    table, by_preset = NumberData, True  # `attn train FILE` alone reads texts
    metrics = ("exact",)
    comparison = Comparison(
        outputs="descriptions",
        presets="presets for rows of numbers",
        preset="numbers-nano",
        demo_preset="numbers-nano",
        variants=("additive", "dot"),
        metrics={"exact": "accuracy"},
    )
    example_input = "echo '0.1 -0.9 1.2' | attn describe"

    def test_set(self, files: Sequence[Path], progress: Progress) -> DevSet:
        """Return the rows of a test set."""
        from attncli.describe.examples import DevNumbers  # imports torch

        return DevNumbers.of(read_rows(files[0]))

    def load(self, folder: Path, progress: Progress) -> Data:
        """Read the files; an empty folder `data` marks the run as prepared."""
        from attncli.describe.examples import DevNumbers, NumberExamples  # imports torch

        rows = [row for path in self.data.train for row in read_rows(path)]
        dev = [row for path in self.data.dev for row in read_rows(path)]
        tokenizer = train([row.text for row in rows], [], 290, self.tokenizer)
        if not (folder / "data").exists():
            write_folder(folder / "data", lambda part: None)
        examples = NumberExamples(rows, tokenizer)
        return Data(tokenizer, examples, Dropped(0, 0), DevNumbers.of(dev) if dev else None)
