"""Captioning of images, batch by batch: one result per image, in order."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from attncli.data.named_images import ImageFile
from attncli.render.captions import CaptionedImage
from models.config import BATCH_IMAGES, SearchConfig
from models.errors import ModelError

if TYPE_CHECKING:
    from PIL.Image import Image

    from attncli.render.image_attention.maps import AttentionMaps
    from models.inference.captioner import Caption, Captioner, CaptionerInput

SIDE = 448  # minimum side of an image that maps are drawn over, in pixels
ALIKE = 0.8  # share of the attention in the same place at every word: the maps hardly differ
FEWEST = 10  # images from which on equal captions are reported
REMEMBERED = 1000  # different captions that are counted


def caption_images(
    groups: Iterable[Sequence[ImageFile]],
    captioner: Captioner,
    *,
    search: SearchConfig,
    attention: bool = False,
    batch: int = BATCH_IMAGES,
) -> Iterator[list[CaptionedImage]]:
    """Caption groups of images; yield the results of at most one batch at a time.

    One batch is in memory at a time. attention: True adds attention maps.
    """
    for group in groups:
        for start in range(0, len(group), batch):
            files = group[start : start + batch]
            yield _captioned(files, captioner, search=search, attention=attention)


class CaptionStatistics:
    """Statistics of all captions, for warnings about a model that does not describe its images."""

    def __init__(self) -> None:
        self._truncated = 0
        self._captions: Counter[str] = Counter()
        self._maps = self._alike = self._images = 0

    def count(self, outcomes: Sequence[CaptionedImage]) -> None:
        """Count some captions."""
        for outcome in outcomes:
            if outcome.hypotheses:
                self._images += 1
                self._truncated += outcome.hypotheses[0].truncated
                known = outcome.caption in self._captions or len(self._captions) < REMEMBERED
                self._captions.update([outcome.caption] if known else [])
            if outcome.attention:
                self._note_overlap(outcome.attention)

    def notes(self) -> Iterator[str]:
        """Yield warnings: captions cut at the limit, maps or captions that hardly differ."""
        if self._truncated:
            yield (
                f"captions cut at their length limit: {self._truncated:,} of {self._images:,} "
                "(--max-caption raises the limit)"
            )
        if self._alike and 2 * self._alike >= self._maps:
            where = f"in {self._alike:,} of {self._maps:,} images " if self._maps > 1 else ""
            yield (
                f"{where}the maps hardly differ from word to word ({ALIKE:.0%} or more of the "
                "attention stays in the same place): they do not explain the words"
            )
        [(caption, count)] = self._captions.most_common(1) or [("", 0)]
        if self._images >= FEWEST and 2 * count > self._images:
            yield f"{count:,} of {self._images:,} images have the same caption, {caption!r}"

    def _note_overlap(self, attention: AttentionMaps) -> None:
        from attncli.render.image_attention.maps import mean_overlap

        if len(attention.words) > 1:
            self._maps += 1
            self._alike += mean_overlap(attention.maps) >= ALIKE


def _captioned(
    files: Sequence[ImageFile], captioner: Captioner, *, search: SearchConfig, attention: bool
) -> list[CaptionedImage]:
    opened = [_opened(file, captioner, attention) for file in files]
    images = [image.shown for image in opened if not isinstance(image, str)]
    captions = iter(captioner.caption(images, search=search, attention=attention))
    outcomes = []
    for file, image in zip(files, opened, strict=True):
        if isinstance(image, str):
            outcomes.append(CaptionedImage(file, (), note=image))
        else:
            caption = next(captions)
            maps = _maps(file, image.larger, caption) if image.larger else None
            outcomes.append(CaptionedImage(file, caption.hypotheses, maps))
    return outcomes


class Opened(NamedTuple):
    """An image reduced to the sizes needed, so that only one is in memory at its full size."""

    shown: CaptionerInput  # the square that the model receives; of an ensemble, one for each model
    larger: Image | None  # the same square, large enough to draw attention maps over it


def _opened(file: ImageFile, captioner: Captioner, attention: bool) -> Opened | str:
    """Open an image; return an error message instead if it cannot be read."""
    from models.images import open_image, to_square

    if file.fault:
        return file.fault
    config = captioner.config.image
    larger = dataclasses.replace(config, size=max(config.size, SIDE))
    try:
        image = open_image(file.content(), least=captioner.image_size)
        return Opened(captioner.reduced(image), to_square(image, larger) if attention else None)
    except ModelError as error:
        return str(error) if file.path else f"{file.name}: {error}"


def _maps(file: ImageFile, image: Image, caption: Caption) -> AttentionMaps:
    """Return the attention maps of a caption, with the image to draw them over."""
    from attncli.render.image_attention.maps import attention_maps

    assert caption.attention is not None
    return attention_maps(file.name, image, caption.attention)
