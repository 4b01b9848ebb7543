"""Captioning of images, batch by batch: one result per image, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import tee
from typing import TYPE_CHECKING

from attncli.data.images.named import ImageFile
from attncli.tasks.caption.image_opener import ImageOpener, OpenedImage
from attncli.tasks.caption.writers import CaptionedImage
from models.config.tables import BATCH_IMAGES

if TYPE_CHECKING:
    from models.inference.captioner import Caption, Captioner

ALIKE = 0.8  # share of the attention in the same place at every word: the maps hardly differ
FEWEST = 10  # images from which on equal captions are reported
REMEMBERED = 1000  # different captions that are counted


def caption_images(
    groups: Iterable[Sequence[ImageFile]],
    captioner: Captioner,
    *,
    attention: bool = False,
    batch: int = BATCH_IMAGES,
) -> Iterator[list[CaptionedImage]]:
    """Caption groups of images; yield the results of at most one batch at a time.

    While a batch is computed, the next one of its group is decoded: two batches are in memory, in
    the size that the model reads. attention: True adds attention maps.
    """
    with ImageOpener(captioner, attention=attention) as opener:
        batches, again = tee(opened for group in groups for opened in opener.opened(group, batch))
        shown = ([each.shown for each in some if not isinstance(each, str)] for _, some in again)
        captions = captioner.batches(shown, attention=attention)
        for (files, images), found in zip(batches, captions, strict=True):
            yield _captioned(files, images, found)


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
            if outcome.attention and len(outcome.attention.words) > 1:
                from attncli.render.image_attention.maps import mean_overlap

                self._maps += 1
                self._alike += mean_overlap(outcome.attention.maps) >= ALIKE

    def notes(self) -> Iterator[str]:
        """Yield warnings: captions cut at the limit, maps or captions that hardly differ."""
        if self._truncated:
            yield (
                f"captions cut at their length limit: {self._truncated:,} of {self._images:,} "
                "(search.max_caption raises the limit)"
            )
        if self._alike and 2 * self._alike >= self._maps:
            where = f"in {self._alike:,} of {self._maps:,} images " if self._maps > 1 else ""
            yield (
                f"{where}the maps hardly differ from word to word ({100 * ALIKE:.0f} % or more of "
                "the attention stays in the same place): they do not explain the words"
            )
        [(caption, count)] = self._captions.most_common(1) or [("", 0)]
        if self._images >= FEWEST and 2 * count > self._images:
            yield f"{count:,} of {self._images:,} images have the same caption, {caption!r}"


def _captioned(
    files: Sequence[ImageFile], opened: Sequence[OpenedImage | str], found: Sequence[Caption]
) -> list[CaptionedImage]:
    """Return the results of a batch of files. found: captions of those that can be read."""
    captions, outcomes = iter(found), []
    for file, image in zip(files, opened, strict=True):
        if isinstance(image, str):
            outcomes.append(CaptionedImage(file, (), note=image))
            continue
        caption, maps = next(captions), None
        if image.larger and caption.attention:
            from attncli.render.image_attention.maps import attention_maps

            maps = attention_maps(file.name, image.larger, caption.attention)
        outcomes.append(CaptionedImage(file, caption.hypotheses, maps))
    return outcomes
