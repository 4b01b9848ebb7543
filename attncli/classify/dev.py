"""A dev set of labelled texts, scored by accuracy and macro F1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from attncli.render.training_samples import heat_map
from attncli.scoring.sequences import score_labels
from attncli.task.panels import ShownExample, spread
from attncli.training.interfaces import DevSet, Report, Scores
from attncli.training.settings.config import TrainConfig
from models.core.config import ModelConfig
from models.core.types import Batch
from models.engines.classifier import Classifier
from models.networks.bundle import Bundle
from models.networks.encoder_decoder import EncoderDecoder
from models.search.batching import length_batches, pad_pairs
from models.text.tokenizer import Tokenizer

BATCH = 64  # texts per batch of the loss
CHUNK = 500  # texts classified between two calls of `report`


@dataclass(frozen=True)
class DevLabels(DevSet):
    """Texts that are classified and scored during training."""

    texts: list[str]
    labels: list[str]

    def __len__(self) -> int:
        return len(self.texts)

    def default_metric(self) -> str:
        """Return accuracy."""
        return "accuracy"

    def too_long(self, tokenizer: Tokenizer, config: ModelConfig) -> int:
        """Return the number of texts longer than model.max_source."""
        return len(self) - len(self._fitting(tokenizer, config.max_source))

    def some(self, numbers: list[int]) -> DevLabels:
        """Return the set with the texts of these numbers only."""
        return DevLabels([self.texts[n] for n in numbers], [self.labels[n] for n in numbers])

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Yield texts with their labels, without texts that training excludes."""
        device = next(model.parameters()).device
        fitting = self._fitting(tokenizer, model.config.max_source)
        texts = [tokenizer.encode(self.texts[n]) for n in fitting]
        labels = [tokenizer.encode_target(self.labels[n]) for n in fitting]
        for batch in length_batches([*map(len, texts)], max_count=BATCH):
            yield pad_pairs([texts[n] for n in batch], [labels[n] for n in batch], device)

    def outputs(self, bundle: Bundle, device: str, report: Report) -> list[str]:
        """Return the labels in order; "" for a text that is too long for the model."""
        return self.labelled(Classifier(bundle, device), report)

    def labelled(self, classifier: Classifier, report: Report) -> list[str]:
        """Return the labels that a classifier predicts; see `outputs`."""
        found = [""] * len(self)
        fitting = self._fitting(classifier.tokenizer, classifier.max_source_length)
        for start in range(0, len(fitting), CHUNK):
            report(start / len(fitting))
            chunk = fitting[start : start + CHUNK]
            results = classifier.classify(self.texts[n] for n in chunk)
            for number, result in zip(chunk, results, strict=True):
                found[number] = result.label
        return found

    def samples(self, bundle: Bundle, device: str, count: int) -> list[ShownExample]:
        """Return evenly spaced texts with their labels; see `DevSet`."""
        fitting = set(self._fitting(bundle.tokenizer, bundle.model.config.max_source))
        chosen = [number for number in spread(len(self), count) if number in fitting]
        classifier = Classifier(bundle, device)
        results = classifier.classify([self.texts[n] for n in chosen], attention=True)
        samples = [
            ShownExample(self.texts[n], self.labels[n], result.label)
            for n, result in zip(chosen, results, strict=True)
        ]
        if bundle.model.decoder.attends and samples:
            words = [word for word, _ in results[0].words]
            weights = np.array([[weight for _, weight in results[0].words]])
            attention = heat_map(words, [results[0].label], weights)
            samples[0] = samples[0]._replace(attention=attention)
        return samples

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """Return accuracy, macro F1 and the loss."""
        found = score_labels(outputs, self.labels)
        return Scores(loss, accuracy=found.accuracy, macro_f1=found.macro_f1)

    def _fitting(self, tokenizer: Tokenizer, longest: int) -> list[int]:
        """Return the indices of the texts that are neither too long nor empty."""
        return [
            n
            for n, text in enumerate(self.texts)
            if text.strip() and len(tokenizer.encode(text)) <= longest
        ]
