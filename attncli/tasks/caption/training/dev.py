"""A dev set of captioned images, decoded with the run's search, scored against all captions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from attncli.data.images.caption_examples import ImageInputs
from attncli.data.training_samples import ShownExample, spread
from attncli.scoring.captions import bleu4, cider
from attncli.scoring.sequences import exact_match
from attncli.tasks.caption.training.features import half
from attncli.tasks.caption.training.samples import image_samples
from attncli.training.events import Scores
from attncli.training.interfaces import Report
from attncli.training.settings.config import TrainConfig
from attncli.training.updates.metrics import metric_for, metric_scores
from models.base.types import Batch
from models.bundle import Bundle
from models.config.tables import ModelConfig
from models.encoders.image import ImageEncoder
from models.families.encoder_decoder import EncoderDecoder
from models.inference.captioner import Captioner
from models.inference.search.batching import length_batches, pad, teacher_forcing_batch
from models.text.tokenizer import Tokenizer

BATCH = 64  # captions per batch of the loss
CHUNK = 100  # images captioned between two calls of `report`


@dataclass(frozen=True)
class DevCaptions:
    """Images that are captioned and scored during training."""

    inputs: ImageInputs
    rows: np.ndarray  # (N,) row of each image in `inputs`
    references: list[list[str]]  # captions of each image, as written
    targets: list[list[str]]  # the same in the style that the model learns
    names: tuple[str, ...] = ()  # of the images
    images: str = ""  # path of the folder or TAR file that contains them

    def __len__(self) -> int:
        return len(self.rows)

    def default_metric(self) -> str:
        """Return exact if most captions are short, otherwise bleu."""
        return metric_for([texts[0] for texts in self.targets])

    def too_long(self, tokenizer: Tokenizer, config: ModelConfig) -> int:
        """Return 0: every image is resized to the model's size."""
        return 0

    @torch.inference_mode()
    def encoded_by(self, model: EncoderDecoder, report: Report) -> DevCaptions:
        """Return the set with features computed once by the model's current encoder."""
        if not self.inputs.are_pixels:
            return self
        encoder, device, found = model.encoder, next(model.parameters()).device, []
        assert isinstance(encoder, ImageEncoder)
        for start in range(0, len(self), BATCH):
            report(0.0)
            pixels, _ = replace(self.inputs, augment=False).source(self.rows[start : start + BATCH])
            found.append(half(encoder.eval().features(pixels.to(device))))
        inputs = ImageInputs(np.concatenate(found), self.inputs.slots)
        return replace(self, inputs=inputs, rows=np.arange(len(self)))

    def some(self, numbers: list[int]) -> DevCaptions:
        """Return the set with the images of these indices only."""
        return replace(
            self,
            rows=self.rows[numbers],
            references=[self.references[n] for n in numbers],
            targets=[self.targets[n] for n in numbers],
            names=tuple(self.names[n] for n in numbers),
        )

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Yield every caption with its image, sorted by length."""
        device = next(model.parameters()).device
        encoded = [
            (row, tokenizer.encode_target(caption))
            for row, captions in zip(self.rows, self.targets, strict=True)
            for caption in captions
        ]
        for numbers in length_batches([len(ids) for _, ids in encoded], max_count=BATCH):
            rows, ids = zip(*(encoded[n] for n in numbers), strict=True)
            target = pad(list(ids), torch.device("cpu"))
            batch = teacher_forcing_batch(*self.inputs.source(np.array(rows)), *target)
            yield batch.map(lambda part: part.to(device))

    def outputs(self, bundle: Bundle, device: str, report: Report) -> list[str]:
        """Return the captions in order."""
        return self.captioned(Captioner(bundle, device), report)

    def captioned(self, captioner: Captioner, report: Report) -> list[str]:
        """Return the captions that a captioner writes, in order."""
        found: list[str] = []
        for start in range(0, len(self), CHUNK):
            report(start / len(self))
            features, _ = self.inputs.source(self.rows[start : start + CHUNK])
            found += [caption.text for caption in captioner.caption(list(features))]
        return found

    def samples(self, bundle: Bundle, device: str, count: int) -> list[ShownExample]:
        """Return evenly spaced images with their captions; see `DevSet`."""
        some = self.some(spread(len(self), count))
        encoded = some.encoded_by(bundle.model, lambda share: None)
        features, _ = encoded.inputs.source(encoded.rows)
        first = (captions[0] for captions in some.references)
        examples = list(zip(some.names, first, strict=True))
        return image_samples(Captioner(bundle, device), self.images, examples, list(features))

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """Return BLEU-4, CIDEr-D, exact match, the metric of early stopping, and the loss."""
        return Scores(
            loss,
            bleu4(outputs, self.references),
            cider(outputs, self.references),
            exact_match(outputs, self.targets),
            **metric_scores(config, outputs, self.targets),
        )
