"""Training data of classifiers: tables of label, tab, text."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attncli.data.corpus import SEED, described
from attncli.data.embedded import as_table
from attncli.data.grammar import split_tenses
from attncli.data.tables import LabelledText, check_order, read_labelled
from attncli.training.dev import Data
from attncli.training.interfaces import Progress
from attncli.training.prepared import PairTable, learn_side, load_table, write_vocabulary
from attncli.training.settings.config import DataConfig
from attncli.training.sources import Comparison, Sizes, TrainingSource
from models.core.errors import ModelError
from models.core.registry import TABLES
from models.core.settings import option
from models.core.use_config import TokenizerConfig
from models.text.normalise import nfc, normalise
from models.text.tokenizer import LabelTokenizer, Tokenizer, check_labels, read_tokenizer

if TYPE_CHECKING:
    from attncli.training.dev import DevSet
    from models.core.types import VocabularySizes

MOST_DEV = 2000  # distinct texts that are set aside for evaluation, at most


@dataclass(frozen=True)
class LabelData(DataConfig):
    """Labelled texts."""

    labels: str = option("", "rows of label, tab, text")
    dev_labels: str = option("", "labelled texts for evaluation during training, as for labels")

    PARTS = MappingProxyType({"train": "labels", "dev": "dev_labels"})


class LabelTraining(TrainingSource):
    """Labelled texts: a table of label, tab, text; or sentences of the grammar and their tense."""

    unit = "labelled texts"
    length_limits = "data.max_length or model.max_source"
    demo_name = "tenses"
    demo_sizes = (8000, 500, 500)
    demo_files = MappingProxyType({"labels": "train.tsv", "dev_labels": "dev.tsv"})
    embedded = "the embedded grammar, labelled with the tense"
    default_preset = "bilstm-attention-small"
    example_input = "echo {} | attn classify"
    table = LabelData
    settings = ("r_drop",)
    metrics = ("accuracy", "macro_f1")
    comparison = Comparison(
        outputs="labels",
        presets="presets of classifiers",
        preset="bilstm-attention-small",
        demo_preset="bilstm-attention-nano",
        variants=tuple(TABLES["pooling"]),
        metrics={"accuracy": "accuracy"},
    )

    @classmethod
    def count(cls, data: Any, most: int) -> int:
        """Return the number of labelled texts."""
        return len(read_labelled(data.labels)) if data.labels else most

    def check(self) -> None:
        """Refuse other data, and settings that have no effect on labels."""
        super().check()
        if self.train.attention.coverage != "none":
            raise ModelError(f"train.attention.coverage for {self.named}", "none")
        if self.data.dev_labels and not self.data.labels:
            raise ModelError("data.dev_labels without data.labels", "both")

    @classmethod
    def demo_contents(cls, sizes: Sizes, seed: int) -> Iterator[tuple[str, bytes]]:
        """Yield tables of sentences of the embedded grammar, labelled with their tense."""
        for part, rows in split_tenses(*sizes[:2], seed=seed)._asdict().items():
            yield f"{part}.tsv", as_table(rows)

    @classmethod
    def tests(cls, data: Any, files: Sequence[Path]) -> Sequence[Path]:
        """Return the table of a test set; raise ModelError for one that cannot be read."""
        for path in files:
            read_labelled(path)
        return files

    @classmethod
    def describe_vocabulary(cls, sizes: VocabularySizes) -> str:
        """Return the numbers of tokens and of labels."""
        return f"{sizes.source:,} tokens, {sizes.target:,} labels"

    def test_set(self, files: Sequence[Path], progress: Progress) -> DevSet:
        """Return labelled texts."""
        return dev_labels(read_labelled(files[0]))

    def load(self, folder: Path, progress: Progress) -> Data:
        """Return tokenised texts with their labels, and the dev set."""
        data, place, remarks = self.data, folder / "data", tuple[str, ...]()
        rows = read_labelled(data.labels)
        check_order(rows, data.labels)
        if data.dev_labels:
            train, dev = rows, read_labelled(data.dev_labels)
        else:
            train, dev = set_aside(rows, data.dev_share)
        if dev and not data.dev_labels:
            remarks = (described(len(dev), "labelled texts"),)
        labels = sorted({row.label for row in (*train, *dev)})
        if self.start_from:
            check_known(labels, read_tokenizer(Path(self.start_from)), data.labels)
        else:
            check_labels(labels)
        if not train:
            raise ModelError(f"1 different text in {data.labels}", "2 or more")

        def vocabulary(part: Path, texts: list[str], _: list[str]) -> Tokenizer:
            learned = partial(learn, texts, labels, self.tokenizer)
            return write_vocabulary(part, self, learned, progress)

        read = partial(map, lambda row: row[::-1], train)
        table = PairTable(data.labels, read, self.longest)
        pairs, dropped = load_table(self, table, place, progress, learn=vocabulary)
        found, notes = dev_labels(dev) if dev else None, unlearned_labels(train, dev)
        return Data(read_tokenizer(place), pairs, dropped, found, notes=notes, remarks=remarks)


def unlearned_labels(train: Sequence[LabelledText], dev: Sequence[LabelledText]) -> tuple[str, ...]:
    """Return a warning that names a dev label without an example to learn from."""
    unknown = sorted({row.label for row in dev} - {row.label for row in train})
    if not unknown:
        return ()
    more = f" and {len(unknown) - 1:,} more" if unknown[1:] else ""
    return (
        f"label {unknown[0]!r}{more} of the dev set has no training example: it is never right",
    )


def check_known(labels: Sequence[str], tokenizer: Any, path: str) -> None:
    """Raise ModelError for labels of a file that the initial model lacks."""
    known = {nfc(label) for label in tokenizer.labels}
    if new := [label for label in labels if nfc(label) not in known]:
        raise ModelError(
            f"label {new[0]!r} in {path}, which the initial model lacks",
            f"its labels: {', '.join(tokenizer.labels)}",
            "leave out --start-from to learn labels of your own",
        )


def dev_labels(rows: Sequence[LabelledText]) -> DevSet:
    """Return labelled texts as a dev set."""
    from attncli.classify.dev import DevLabels  # imports torch

    return DevLabels([row.text for row in rows], [[row.label] for row in rows])


def learn(texts: Iterable[str], labels: Sequence[str], config: TokenizerConfig) -> LabelTokenizer:
    """Return a tokenizer learned from texts, with labels."""
    learned = learn_side([normalise(text) for text in texts], config)
    return LabelTokenizer(learned.files()["tokenizer.model"], labels)


def set_aside(
    rows: Sequence[LabelledText], share: float, seed: int = SEED
) -> tuple[list[LabelledText], list[LabelledText]]:
    """Return the rows for training and those for evaluation; no text is in both.

    share: of the distinct texts, sampled by the seed; at most MOST_DEV of them.
    """
    texts = list(dict.fromkeys(row.text for row in rows))
    count = min(round(share * len(texts)), MOST_DEV, len(texts) - 1)
    held = set(random.Random(seed).sample(texts, max(count, 1))) if share else set()
    return [row for row in rows if row.text not in held], [row for row in rows if row.text in held]
