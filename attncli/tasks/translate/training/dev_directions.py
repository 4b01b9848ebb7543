"""A dev set of several directions: each is scored by itself, and the mean of BLEU is the score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, islice, zip_longest

from attncli.data.panels import ShownExample
from attncli.tasks.translate.training.dev import DevTexts
from attncli.training.events import Scores
from attncli.training.interfaces import DevSet, Report
from attncli.training.settings.config import TrainConfig
from attncli.training.updates.metrics import metric_for
from models.base.types import Batch
from models.bundle import Bundle
from models.config import ModelConfig
from models.families.encoder_decoder import EncoderDecoder
from models.text.tokenizer import Tokenizer

AVERAGED = ("bleu", "exact", "error_rate", "rouge_l", "chrf", "ter")


@dataclass(frozen=True)
class DevDirections(DevSet):
    """Dev sets of one direction each."""

    parts: tuple[DevTexts, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def default_metric(self) -> str:
        """Return exact if most references of all directions are short, otherwise bleu."""
        return metric_for([text for part in self.parts for text in part.references[0]])

    def too_long(self, tokenizer: Tokenizer, config: ModelConfig) -> int:
        """Return the number of sources that are longer than the model takes."""
        return sum(part.too_long(tokenizer, config) for part in self.parts)

    def some(self, numbers: list[int]) -> DevDirections:
        """Return the set with the sources of these numbers only, counted through all directions."""
        starts = [0, *accumulate(map(len, self.parts))]
        return DevDirections(
            tuple(
                part.some([n - start for n in numbers if start <= n < start + len(part)])
                for part, start in zip(self.parts, starts, strict=False)
            )
        )

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Yield the batches of every direction."""
        for part in self.parts:
            yield from part.batches(tokenizer, model)

    def outputs(self, bundle: Bundle, device: str, report: Report) -> list[str]:
        """Return the translations of all directions, one after another."""
        found: list[str] = []
        for number, part in enumerate(self.parts):
            found += part.outputs(bundle, device, self._shifted(report, number))
        return found

    def _shifted(self, report: Report, number: int) -> Report:
        """Return a callback that converts progress in one direction into progress in all."""
        return lambda share: report((number + share) / len(self.parts))

    def samples(self, bundle: Bundle, device: str, count: int) -> list[ShownExample]:
        """Return the samples of the directions in turn; see `DevSet`."""
        each = -(-count // len(self.parts))
        found = [part.samples(bundle, device, each) for part in self.parts]
        in_turn = (sample for row in zip_longest(*found) for sample in row if sample)
        return list(islice(in_turn, count))

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """Return the BLEU of every direction, and the mean of each score over the directions."""
        remaining = iter(outputs)
        found = {
            part.name: part.scores(loss, list(islice(remaining, len(part))), config)
            for part in self.parts
        }
        means = {name: _mean([getattr(s, name) for s in found.values()]) for name in AVERAGED}
        directions = {name: score.bleu or 0.0 for name, score in found.items()}
        return Scores(loss, **means, directions=directions)


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
