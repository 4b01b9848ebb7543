"""A dev set of captions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import torch

from attncli.caption._captions import Images, styled
from attncli.caption._scores import caption_scores
from attncli.caption.features import half
from attncli.data.named_files import open_images
from attncli.render.image_maps import attention_maps, figure
from attncli.render.page import data_url
from attncli.scoring.sequences import exact_match
from attncli.task.panels import ShownExample, spread
from attncli.training.config import TrainConfig
from attncli.training.dev import Decode, DevSet, metric_scores
from attncli.training.interfaces import Report, Scores
from models.core.config import ImageConfig
from models.core.errors import ModelError
from models.core.types import Batch
from models.engines.captioner import Captioner
from models.networks.bundle import Bundle
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.image_encoder import ImageEncoder
from models.search.batching import length_batches, pad, teacher_forcing_batch
from models.signals.images import open_image, to_square
from models.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE = 160  # pixels of a sample's image without maps


@dataclass(frozen=True)
class DevCaptions(DevSet):
    """Names of images that are captioned and scored during training."""

    images: Images | None = None  # the features or pixels of each
    style: str = "words"  # of the captions that the model learns
    path: str = ""  # of the folder or TAR file that contains the images

    limited = False  # every image is resized to the model's size

    @property
    def targets(self) -> list[list[str]]:
        """The captions of each image in the style that the model learns."""
        return [[styled(text, self.style) for text in texts] for texts in self.references]

    @torch.inference_mode()
    def encoded_by(self, model: EncoderDecoder, report: Report) -> DevCaptions:
        """Return the set with features computed once by the model's current encoder."""
        assert self.images is not None
        if not self.images.are_pixels:
            return self
        encoder, device, found = model.encoder, next(model.parameters()).device, []
        assert isinstance(encoder, ImageEncoder)
        still = replace(self.images, augment=False)
        for start in range(0, len(self), self.together):
            report(0.0)
            pixels, _ = still.padded(slice(start, start + self.together))
            found.append(half(encoder.eval().features(pixels.to(device))))
        images = Images(np.concatenate(found), np.arange(len(self)), self.images.slots)
        return replace(self, images=images)

    def some(self, numbers: Sequence[int]) -> DevCaptions:
        """Return the set with the images of these numbers only."""
        assert self.images is not None
        return replace(super().some(numbers), images=self.images.some(list(numbers)))

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Yield every caption with its image, sorted by length."""
        assert self.images is not None
        device = next(model.parameters()).device
        encoded = [
            (number, tokenizer.encode_target(caption))
            for number, captions in enumerate(self.targets)
            for caption in captions
        ]
        for rows in length_batches([len(ids) for _, ids in encoded], max_count=self.together):
            numbers, ids = zip(*(encoded[n] for n in rows), strict=True)
            target = pad(list(ids), torch.device("cpu"))
            batch = teacher_forcing_batch(*self.images.padded(np.array(numbers)), *target)
            yield batch.map(lambda part: part.to(device))

    def decoder(self, bundle: Bundle, device: str) -> Decode:
        """Return the function that captions the images of some numbers."""
        images, captioner = self.images, Captioner(bundle, device)
        assert images is not None
        return lambda numbers: [
            caption.text for caption in captioner.caption(list(images.padded(np.array(numbers))[0]))
        ]

    def samples(self, bundle: Bundle, device: str, count: int) -> list[ShownExample]:
        """Return evenly spaced images with their captions; see `DevSet`."""
        some = self.some(spread(len(self), count)).encoded_by(bundle.model, lambda share: None)
        assert some.images is not None
        features = some.images.padded(np.arange(len(some)))[0]
        captions = Captioner(bundle, device).caption(list(features), attention=True)
        samples: list[ShownExample] = []
        for name, texts, caption in zip(some.sources, some.references, captions, strict=True):
            image = shown_image(self.path, name, bundle.model.config.image)
            sample = ShownExample(name, texts[0], caption.text)
            if image and not samples and caption.attention:
                maps = attention_maps(name, image, caption.attention)
                sample = sample._replace(attention=figure(maps))
            elif image:
                small = data_url(image.resize((SIDE, SIDE)), "JPEG", quality=80)
                sample = sample._replace(image=small)
            samples.append(sample)
        return samples

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """Return BLEU-4, CIDEr-D, ROUGE-L, exact match, the metric of stopping, and the loss."""
        targets, references = self.targets, [list(texts) for texts in self.references]
        found, exact = caption_scores(outputs, references), exact_match(outputs, targets)
        others = metric_scores(config, outputs, targets) | {"rouge_l": found.rouge_l}
        return Scores(loss, found.bleu4, found.cider, exact, **others)


@lru_cache(maxsize=64)
def shown_image(images: str, name: str, config: ImageConfig) -> Image | None:
    """Return the square that the model reads of an image; None if it cannot be opened any more."""
    try:
        place = open_images(images).find(name)
        return to_square(open_image(place.read()), config) if place else None
    except ModelError:
        return None
