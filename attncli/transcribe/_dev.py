"""A dev set of recordings, scored by error rates of words and characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attncli.scoring.sequences import error_rate, exact_match
from attncli.training.config import TrainConfig
from attncli.training.dev import Decode, DevSet
from attncli.training.interfaces import Scores
from attncli.transcribe._examples import SoundExamples
from models.core.types import Batch
from models.networks.bundle import Bundle
from models.networks.encoder_decoder import EncoderDecoder
from models.search.batching import length_batches
from models.speech.transcriber import Transcriber
from models.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class DevTranscripts(DevSet):
    """Recordings that are transcribed and scored during training, by their names."""

    examples: SoundExamples | None = None
    numbers: Sequence[int] = ()  # (N,) of the examples

    metric, together, chunk = "wer", 32, 64
    limited = False  # long recordings are divided

    @classmethod
    def of(cls, examples: SoundExamples) -> DevTranscripts:
        """Return all examples as a set to evaluate."""
        texts = [[examples.text(each)] for each in examples.joined]
        names = [f"recording {number}" for number in range(1, len(texts) + 1)]
        return cls(names, texts, examples=examples, numbers=range(len(texts)))

    def some(self, numbers: Sequence[int]) -> DevTranscripts:
        """Return the set with the recordings of these numbers only."""
        return replace(super().some(numbers), numbers=[self.numbers[n] for n in numbers])

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Yield the batches for the loss, on the model's device."""
        assert self.examples is not None
        device = next(model.parameters()).device
        examples, numbers = replace(self.examples, tokenizer=tokenizer), np.array(self.numbers)
        slots = examples.lengths[0][numbers].tolist()
        for batch in length_batches(slots, max_count=self.together):
            yield examples.batch(numbers[batch]).map(lambda part: part.to(device))

    def decoder(self, bundle: Bundle, device: str) -> Decode:
        """Return the function that transcribes the recordings of some numbers."""
        examples, transcriber = self.examples, Transcriber(bundle, device)
        assert examples is not None

        def decode(numbers: list[int]) -> list[str]:
            joined = [examples.joined[self.numbers[n]] for n in numbers]
            found = transcriber.outputs([examples.features(each) for each in joined])
            return [best[0].text for best in found]

        return decode

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """Return the error rates of words and characters, exact match and the loss."""
        texts = [list(each) for each in self.references]
        return Scores(
            loss,
            exact=exact_match(outputs, texts),
            wer=error_rate(outputs, texts),
            cer=error_rate(outputs, texts, tokenize=list),
        )
