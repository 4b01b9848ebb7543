"""A dev set of captioned images, decoded with the run's search, scored against all captions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import torch

from attncli.data.images.caption_examples import ImageInputs
from attncli.data.images.index import open_images
from attncli.data.panels import ShownExample, spread
from attncli.render.image_attention.maps import attention_maps
from attncli.render.image_attention.page import figure, jpeg_url
from attncli.scoring.captions import bleu4, cider
from attncli.scoring.sequences import exact_match
from attncli.tasks.caption.training.features import half
from attncli.training.events import Scores
from attncli.training.interfaces import Report
from attncli.training.settings.config import TrainConfig
from attncli.training.updates.metrics import metric_for, metric_scores
from models.base.errors import ModelError
from models.base.types import Batch
from models.bundle import Bundle
from models.config import ImageConfig, ModelConfig
from models.encoders.image import ImageEncoder
from models.families.encoder_decoder import EncoderDecoder
from models.images.opening import open_image, to_square
from models.inference.captioner import Captioner
from models.inference.search.batching import length_batches, pad, teacher_forcing_batch
from models.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

BATCH = 64  # captions per batch of the loss
CHUNK = 100  # images captioned between two calls of `report`
SIDE = 160  # pixels of a sample's image without maps


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


def image_samples(
    captioner: Captioner,
    images: str,
    examples: Sequence[tuple[str, str]],
    features: Sequence[Tensor],
) -> list[ShownExample]:
    """Return a sample for each example, a name and a reference caption.

    images: path of the folder or TAR file of images. features: (S, V) of each image.
    """
    captions = captioner.caption(list(features), attention=True)
    samples: list[ShownExample] = []
    for (name, reference), caption in zip(examples, captions, strict=True):
        image = shown_image(images, name, captioner.config.image)
        sample = ShownExample(name, reference, caption.text)
        if image and not samples and caption.attention:
            maps = attention_maps(name, image, caption.attention)
            sample = sample._replace(attention=figure(maps))
        elif image:
            sample = sample._replace(image=jpeg_url(image.resize((SIDE, SIDE)), 80))
        samples.append(sample)
    return samples


@lru_cache(maxsize=64)
def shown_image(images: str, name: str, config: ImageConfig) -> Image | None:
    """Return the square that the model reads of an image; None if it cannot be opened any more."""
    try:
        place = open_images(images).find(name)
        return to_square(open_image(place.read()), config) if place else None
    except ModelError:
        return None
