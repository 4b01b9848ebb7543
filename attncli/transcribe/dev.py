"""A dev set of recordings, scored by error rates of words and characters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from attncli.data.recordings import SoundExamples
from attncli.scoring.sequences import error_rate, exact_match
from attncli.task.panels import ShownExample, spread
from attncli.training.interfaces import DevSet, Report, Scores
from attncli.training.settings.config import TrainConfig
from models.core.config import ModelConfig
from models.core.types import Batch
from models.engines.transcriber import Transcriber
from models.networks.bundle import Bundle
from models.networks.encoder_decoder import EncoderDecoder
from models.search.batching import length_batches, windows
from models.text.tokenizer import Tokenizer

BATCH = 32  # recordings per batch of the loss
CHUNK = 64  # recordings transcribed between two calls of `report`


@dataclass(frozen=True)
class DevTranscripts(DevSet):
    """Recordings that are transcribed and scored during training."""

    examples: SoundExamples
    numbers: np.ndarray  # (N,) of the examples

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def texts(self) -> list[str]:
        """The reference of each recording."""
        return [self.examples.text(self.examples.joined[n]) for n in self.numbers]

    def default_metric(self) -> str:
        """Return the word error rate."""
        return "wer"

    def too_long(self, tokenizer: Tokenizer, config: ModelConfig) -> int:
        """Return 0: long recordings are divided."""
        return 0

    def some(self, numbers: list[int]) -> DevTranscripts:
        """Return the set with the recordings of these numbers only."""
        return replace(self, numbers=self.numbers[numbers])

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Yield the batches for the loss, on the model's device."""
        device = next(model.parameters()).device
        examples = replace(self.examples, tokenizer=tokenizer)
        slots = examples.lengths[0][self.numbers].tolist()
        for batch in length_batches(slots, max_count=BATCH):
            yield examples.batch(self.numbers[batch]).map(lambda part: part.to(device))

    def outputs(self, bundle: Bundle, device: str, report: Report) -> list[str]:
        """Return the text of each recording."""
        return self.transcribed(Transcriber(bundle, device), report)

    def transcribed(self, transcriber: Transcriber, report: Report) -> list[str]:
        """Return the texts that a model finds, in order."""
        found: list[str] = []
        for chunk in windows(self.numbers.tolist(), CHUNK):
            report(len(found) / len(self))
            features = [self.examples.features(self.examples.joined[n]) for n in chunk]
            found += [best[0].text for best in transcriber.outputs(features)]
        return found

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """Return the error rates of words and characters, exact match and the loss."""
        texts = [[text] for text in self.texts]
        return Scores(
            loss,
            exact=exact_match(outputs, texts),
            wer=error_rate(outputs, texts),
            cer=error_rate(outputs, texts, tokenize=list),
        )

    def samples(self, bundle: Bundle, device: str, count: int) -> list[ShownExample]:
        """Return evenly spaced recordings with their texts; see `DevSet`."""
        some = self.some(spread(len(self), count))
        found = some.outputs(bundle, device, lambda share: None)
        numbered = zip(some.numbers, some.texts, found, strict=True)
        return [ShownExample(f"recording {n + 1}", text, output) for n, text, output in numbered]
