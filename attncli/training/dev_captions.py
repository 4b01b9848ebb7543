"""A dev set of captioned pictures: captioned by real search, scored against all their captions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from attncli.data.caption_examples import Views
from attncli.scoring.captions import bleu4, cider
from attncli.training.config import TrainConfig
from attncli.training.events import Scores
from attncli.training.material import Heartbeat
from attncli.training.seeing import half
from models.bundle import Bundle
from models.config import ModelConfig
from models.encoders.image import ImageEncoder
from models.inference.batching import length_batches, pad, teacher_forcing_batch
from models.inference.captioner import Captioner
from models.model import EncoderDecoder
from models.tokenizer import Tokenizer
from models.types import Batch

BATCH = 64  # captions whose loss is taken at a time
PORTION = 100  # pictures captioned between two looks at whether to stop


@dataclass(frozen=True)
class DevCaptions:
    """Pictures that are captioned and scored while training."""

    views: Views
    rows: np.ndarray  # (N,) of the pictures
    references: list[list[str]]  # the captions of each picture, as written
    targets: list[list[str]]  # the same, as the model is to say them

    def __len__(self) -> int:
        return len(self.rows)

    def too_long(self, tokenizer: Tokenizer, config: ModelConfig) -> int:
        """0: every picture has the size that the model takes."""
        return 0

    @torch.inference_mode()
    def seen_by(self, model: EncoderDecoder, beat: Heartbeat) -> DevCaptions:
        """The set with the features that the model's encoder now gives, once for all its uses."""
        if not self.views.are_pixels:
            return self
        encoder, device, found = model.encoder, next(model.parameters()).device, []
        assert isinstance(encoder, ImageEncoder)
        for start in range(0, len(self), BATCH):
            beat(0.0)
            pixels, _ = replace(self.views, augment=None).source(self.rows[start : start + BATCH])
            found.append(half(encoder.eval().features(pixels.to(device))))
        views = Views(np.concatenate(found), self.views.slots)
        return replace(self, views=views, rows=np.arange(len(self)))

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Every caption with its picture, those of like length together."""
        device = next(model.parameters()).device
        encoded = [
            (row, tokenizer.encode_target(caption))
            for row, captions in zip(self.rows, self.targets, strict=True)
            for caption in captions
        ]
        for numbers in length_batches([len(ids) for _, ids in encoded], max_count=BATCH):
            rows, ids = zip(*(encoded[n] for n in numbers), strict=True)
            target = pad(list(ids), torch.device("cpu"))
            batch = teacher_forcing_batch(*self.views.source(np.array(rows)), *target)
            yield batch.map(lambda part: part.to(device))

    def outputs(self, bundle: Bundle, device: str, beat: Heartbeat) -> list[str]:
        """Captions in order."""
        captioner, found = Captioner(bundle, device), []
        for start in range(0, len(self), PORTION):
            beat(start / len(self))
            features, _ = self.views.source(self.rows[start : start + PORTION])
            found += [caption.text for caption in captioner.caption(list(features))]
        return found

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """BLEU-4 and CIDEr-D against all captions of a picture, beside the loss."""
        return Scores(loss, bleu4(outputs, self.references), cider(outputs, self.references))
