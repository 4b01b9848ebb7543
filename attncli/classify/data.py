"""Labelled texts as training data, and the dev set, scored by accuracy and macro F1."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from attncli.classify._scores import score_labels
from attncli.classify._table import LabelledText, check_order, read_labelled
from attncli.classify.source import LabelTraining
from attncli.data.corpus import SEED
from attncli.render.page import heat_map
from attncli.task.panels import ShownExample, spread
from attncli.training.config import TrainConfig
from attncli.training.dev import Data, Decode, DevSet
from attncli.training.interfaces import Progress, Scores
from attncli.training.prepared import PairTable, Preparation, learn_side, load_tables
from models.core.errors import ModelError
from models.core.use_config import TokenizerConfig
from models.engines.classifier import Classifier
from models.networks.bundle import Bundle
from models.text.normalise import nfc, normalise
from models.text.tokenizer import LabelTokenizer, check_labels, read_tokenizer

MAX_DEV_TEXTS = 2000  # distinct texts that are set aside for evaluation, at most


def load(source: LabelTraining, folder: Path, progress: Progress) -> Data:
    """Return tokenised texts with their labels, and the dev set."""
    data, place = source.data, folder / "data"
    rows = read_labelled(data.labels)
    check_order(rows, data.labels)
    if data.dev_labels:
        train, dev = rows, read_labelled(data.dev_labels)
    else:
        train, dev = set_aside(rows, data.dev_share)
    labels = sorted({row.label for row in (*train, *dev)})
    if source.start_from:
        check_known(labels, read_tokenizer(Path(source.start_from)), data.labels)
    else:
        check_labels(labels)
    if not train:
        raise ModelError(f"1 different text in {data.labels}", "2 or more")

    how = Preparation(lambda part, texts, _: partial(learn, texts, labels, source.tokenizer))
    read = partial(map, lambda row: row[::-1], train)
    table = PairTable(data.labels, read, source.longest)
    [pairs], dropped, tokenizer = load_tables(source, [table], place, progress, how)
    found, notes = DevLabels.of(dev) if dev else None, unlearned_labels(train, dev)
    return Data(tokenizer, pairs, dropped, found, notes=notes)


def test_set(source: LabelTraining, files: Sequence[Path], progress: Progress) -> DevLabels:
    """Return labelled texts to evaluate on."""
    return DevLabels.of(read_labelled(files[0]))


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


def learn(texts: Iterable[str], labels: Sequence[str], config: TokenizerConfig) -> LabelTokenizer:
    """Return a tokenizer learned from texts, with labels."""
    learned = learn_side([normalise(text) for text in texts], config)
    return LabelTokenizer(learned.files()["tokenizer.model"], labels)


def set_aside(
    rows: Sequence[LabelledText], share: float, seed: int = SEED
) -> tuple[list[LabelledText], list[LabelledText]]:
    """Return the rows for training and those for evaluation; no text is in both.

    share: of the distinct texts, sampled by the seed; at most MAX_DEV_TEXTS of them.
    """
    texts = list(dict.fromkeys(row.text for row in rows))
    count = min(round(share * len(texts)), MAX_DEV_TEXTS, len(texts) - 1)
    held = set(random.Random(seed).sample(texts, max(count, 1))) if share else set()
    return [row for row in rows if row.text not in held], [row for row in rows if row.text in held]


class DevLabels(DevSet):
    """Texts that are classified and scored during training; the reference is the label."""

    metric, side, chunk = "accuracy", 0, 500

    @classmethod
    def of(cls, rows: Sequence[LabelledText]) -> DevLabels:
        """Return labelled texts as a set to evaluate."""
        return cls([row.text for row in rows], [[row.label] for row in rows])

    def decoder(self, bundle: Bundle, device: str) -> Decode:
        """Return the function that classifies the texts of some numbers."""
        classifier = Classifier(bundle, device)
        return lambda numbers: [
            result.label for result in classifier.classify(self.sources[n] for n in numbers)
        ]

    def samples(self, bundle: Bundle, device: str, count: int) -> list[ShownExample]:
        """Return evenly spaced texts with their labels; see `DevSet`."""
        usable = {*self.usable(bundle.tokenizer, bundle.model.config)}
        some = self.some([n for n in spread(len(self), count) if n in usable])
        results = Classifier(bundle, device).classify(some.sources, attention=True)
        rows = zip(some.sources, some.references, results, strict=True)
        samples = [ShownExample(text, label, result.label) for text, [label], result in rows]
        if bundle.model.decoder.attends and samples:
            words, weights = zip(*results[0].words, strict=True)
            attention = heat_map(words, [results[0].label], np.array([weights]))
            samples[0] = samples[0]._replace(attention=attention)
        return samples

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """Return accuracy, macro F1 and the loss."""
        found = score_labels(outputs, [label for [label] in self.references])
        return Scores(loss, accuracy=found.accuracy, macro_f1=found.macro_f1)
