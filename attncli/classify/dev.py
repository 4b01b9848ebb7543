"""A dev set of labelled texts, scored by accuracy and macro F1."""

from __future__ import annotations

import numpy as np

from attncli.render.training_samples import heat_map
from attncli.scoring.sequences import score_labels
from attncli.task.panels import ShownExample, spread
from attncli.training.dev import Decode, DevSet
from attncli.training.interfaces import Scores
from attncli.training.settings.config import TrainConfig
from models.engines.classifier import Classifier
from models.networks.bundle import Bundle


class DevLabels(DevSet):
    """Texts that are classified and scored during training; the reference is the label."""

    metric, side, chunk = "accuracy", 0, 500

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
