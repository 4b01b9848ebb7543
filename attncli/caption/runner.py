"""Images to captions: the one way behind every door."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import tee
from typing import TYPE_CHECKING

from attncli.caption.images import ImageOpener, OpenedImage, image_of
from attncli.data.named_files import IMAGES, NamedFile
from attncli.options.loading import LoadedRunner
from attncli.options.settings import Options
from attncli.render.rows import InputCells, OutputCells, hypothesis_record
from attncli.task.runner import JsonObject, RankedOutputs, ShownResult
from attncli.terminal.messages import current_screen, one_cell, printable
from models.core.config import BATCH_IMAGES
from models.core.errors import InputError, ModelError
from models.core.settings import option
from models.storage.installed import chosen_model

if TYPE_CHECKING:
    from PIL.Image import Image

    from attncli.render.image_maps import AttentionMaps
    from models.core.types import Hypothesis
    from models.engines.captioner import Caption, Captioner, ImageAttention, ImageInput  # noqa: F401

BELOW = 205  # pixels of what is below an image in a notebook
RAISED = "(search.max_caption raises the limit)"
OF_TEXTS = "search.max_ratio search.max_extra search.split_above"


@dataclass(frozen=True)
class ImageBatches:
    """Computation over batches of images."""

    batch_images: int = option(BATCH_IMAGES, "images of a batch", least=1)


@dataclass(frozen=True, eq=False)
class CaptionedImage(RankedOutputs, ShownResult):
    """An image with its captions, best first, and the map of each word of the best."""

    file: NamedFile
    hypotheses: tuple[Hypothesis, ...]  # best first; none: `fault` has the reason
    attention: AttentionMaps | None = None  # over the image, if requested
    alignment: ImageAttention | None = None  # words and maps (W, rows, columns), if requested
    fault: ModelError | None = None

    @property
    def text(self) -> str:
        """The best caption; empty if there is none."""
        return self.hypotheses[0].text if self.hypotheses else ""

    @property
    def note(self) -> str:
        """Why there is no caption; empty if there is one."""
        return str(self.fault or "")

    @property
    def image(self) -> Image | None:
        """The part of the image that the model read, in its own shape, if maps were requested."""
        return self.attention.image if self.attention else None

    @property
    def weighed(self) -> CaptionedImage:
        """This result; raise InputError if it has no maps to show."""
        if not self.attention:
            raise InputError("a caption without maps", "an image, and caption(attention=True)")
        return self


@dataclass(frozen=True)
class OutputSettings:
    """Files that are written."""

    overwrite: bool = option(False, "let --sidecar replace existing files")


@dataclass(frozen=True)
class CaptionOptions(Options):
    """Options of captions. Defaults of the search are those saved with the model."""

    TABLES = "search output attention compute"
    UNUSED = OF_TEXTS

    output: OutputSettings = option(OutputSettings, "files that are written")
    compute: ImageBatches = option(ImageBatches, "computation")


class CaptionRunner(LoadedRunner[NamedFile, CaptionedImage, "Captioner", CaptionOptions]):
    """A captioner of images. `run` is the only way to captions, for commands, jobs and service."""

    task = shipped = "caption"
    doing, unit, into, options_of = "captioning", "image", "caption", CaptionOptions
    files, fields, item = IMAGES, 0, IMAGES.named

    def run(
        self, chunks: Iterable[Sequence[NamedFile]], *, weights: bool = False
    ) -> Iterator[list[CaptionedImage]]:
        """Caption groups of images; yield the results of at most one batch at a time.

        While a batch is computed, the next one of its group is decoded: two batches are in memory,
        in the size that the model reads. weights: True adds attention maps.
        """
        size = self.options.compute.batch_images
        prefix, look = self.options.prefix, self.options.look
        with ImageOpener(self.model, attention=weights, prefix=prefix, look=look) as opener:
            batches, again, more = tee(
                (opened for group in chunks for opened in opener.opened(group, size)), 3
            )
            shown = ([each.shown for each in usable(some)] for _, some in again)
            steering = (each.steering for _, some in more for each in usable(some))
            captions = self.model.batches(shown, attention=weights, steering=steering)
            for (files, images), found in zip(batches, captions, strict=True):
                captioned = iter(found)
                yield [
                    CaptionedImage(file, (), fault=image)
                    if isinstance(image, ModelError)
                    else self._result(file, image, next(captioned))
                    for file, image in zip(files, images, strict=True)
                ]

    def opened(self, file: NamedFile) -> ImageInput:
        """Return an image, or the features that a program gives; raise ModelError if it is bad."""
        return image_of(file, self.model)

    @cached_property
    def _name(self) -> str:
        """The name of the model, for pictures; empty for one in memory."""
        if self.folders is None:
            return ""
        return chosen_model(next(iter(self.folders), None), self.task).name

    def _result(self, file: NamedFile, image: OpenedImage, found: Caption) -> CaptionedImage:
        maps = None
        if image.larger and found.attention:
            from attncli.render.image_maps import attention_maps

            hard = not self.options.attention.read_decode  # by argmax, if the mean is read
            maps = attention_maps(file.name, image.larger, found.attention, hard=hard)
            maps = maps._replace(model=self._name)
        return CaptionedImage(file, found.hypotheses, maps, found.attention, by=self)

    def cells(self, result: CaptionedImage) -> InputCells:
        """Return an image and its captions."""
        read = (self.model.read_mode,) if self.model.read_mode.startswith("hard") else ()
        outputs = [OutputCells(each.text, f"{each.score:.4f}", read) for each in result.hypotheses]
        return InputCells(name_of(result.file), outputs or [OutputCells(columns=read)])

    def lines(self, result: CaptionedImage) -> Iterable[str]:
        """Return the rows of an image; of a single one, rows of text have no name."""
        if self.options.format != "text":
            yield from super().lines(result)
            return
        name = "" if self.options.alone else f"{name_of(result.file)}\t"
        scores = self.several or self.options.with_scores
        for one in result.hypotheses if self.several else result.hypotheses[:1]:
            score = f"{one.score:.4f}\t" if scores else ""
            yield f"{name}{score}{one_cell(one.text)}"
        if not result.hypotheses and not self.options.alone:
            yield name + ("\t" if scores else "")

    def rows(self, results: Sequence[CaptionedImage]) -> bytes:
        """Return the rows of some images; file names that are not valid UTF-8 keep their bytes."""
        if self.options.format == "html":
            return figures(results)
        rows = "".join(f"{row}\n" for each in results for row in self.lines(each))
        return rows.encode(
            "utf-8", "replace" if self.options.format == "jsonl" else "surrogateescape"
        )

    def record(self, result: CaptionedImage) -> JsonObject:
        """Return an image with its captions, and how hard attention was read."""
        record: JsonObject = {
            "image": result.file.name,
            "caption": result.hypotheses[0].text if result.hypotheses else None,
            "hypotheses": [hypothesis_record(one) for one in result.hypotheses],
        }
        if self.model.read_mode:
            record["read"] = self.model.read_mode
        return {**record, "error": result.note} if result.note else record

    def heat_map(self, result: CaptionedImage) -> str:
        """Return the attention map of each word."""
        from attncli.render.image_maps import maps_as_text

        return maps_as_text(result.attention, current_screen()) if result.attention else ""

    def page(self, result: CaptionedImage) -> tuple[bytes, int] | None:
        """Return the image whose caption shows the map of the word pointed at."""
        from attncli.render.image_maps import SIDE, fitting, html_page

        maps = result.attention
        return (html_page(maps), fitting(maps.image, SIDE)[1] + BELOW) if maps else None

    def text(self, result: CaptionedImage) -> str | None:
        """Return the best caption."""
        return one_cell(result.text) if result.hypotheses else None

    def notes(self, result: CaptionedImage) -> Iterator[str]:
        """Yield why there is no caption, or a warning if it was cut."""
        yield result.note
        if result.hypotheses and result.hypotheses[0].truncated:
            yield f"{result.file.name}: the caption was cut at its length limit {RAISED}"


def usable(images: Iterable[OpenedImage | ModelError]) -> list[OpenedImage]:
    """Return the images that could be opened."""
    return [each for each in images if not isinstance(each, ModelError)]


def name_of(file: NamedFile) -> str:
    """Return the name of an image without what would break a row or control a terminal."""
    return printable(one_cell(file.name), keep_surrogates=True)


def figures(outcomes: Iterable[CaptionedImage]) -> bytes:
    """Return the figures of images in a page, or why there is none."""
    from attncli.render.image_maps import fault, figure

    rows = []
    for outcome in outcomes:
        others = [(text, score) for text, score, *_ in outcome.hypotheses[1:]]
        if outcome.attention:
            rows.append(figure(outcome.attention, others))
        else:
            rows.append(fault(outcome.file.name, outcome.note))
    return "".join(f"{row}\n" for row in rows).encode("utf-8", "replace")
