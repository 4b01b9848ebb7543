"""Images to captions: the one way behind every door."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import tee
from typing import TYPE_CHECKING, NamedTuple

from attncli.caption.images import ImageOpener, OpenedImage
from attncli.data.named_files import IMAGES, NamedFile
from attncli.options import loading
from attncli.options.settings import Options
from attncli.options.shared import ImageBatches
from attncli.render.rows import InputCells, OutputCells, RowRunner, hypothesis_record
from attncli.task.runner import JsonObject
from attncli.terminal.messages import current_screen, one_cell, printable
from models.core.settings import option
from models.storage.installed import chosen_model

if TYPE_CHECKING:
    from attncli.render.image_maps import AttentionMaps
    from models.core.types import Hypothesis
    from models.engines.captioner import Caption, Captioner

RAISED = "(search.max_caption raises the limit)"
OF_TEXTS = "search.max_ratio search.max_extra search.split_above"


class CaptionedImage(NamedTuple):
    """An image with its captions."""

    file: NamedFile
    hypotheses: tuple[Hypothesis, ...]  # best first; none: `note` has the reason
    attention: AttentionMaps | None = None  # attention maps, if requested
    note: str = ""

    @property
    def caption(self) -> str:
        """The best caption; empty if there is none."""
        return one_cell(self.hypotheses[0].text) if self.hypotheses else ""


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


class CaptionRunner(RowRunner[NamedFile, CaptionedImage]):
    """A captioner of images. `run` is the only way to captions, for commands, jobs and service."""

    task = shipped = "caption"
    doing, unit, into, options_of = "captioning", "image", "caption", CaptionOptions
    files, fields, item = IMAGES, 0, IMAGES.named
    load = staticmethod(partial(loading.load, task))

    @classmethod
    def of(cls, model: Captioner, options: CaptionOptions) -> CaptionRunner:
        """Return the runner of a captioner."""
        return cls(loading.configured(cls.task, model, options), options)

    def run(
        self, chunks: Iterable[Sequence[NamedFile]], *, weights: bool = False
    ) -> Iterator[list[CaptionedImage]]:
        """Caption groups of images; yield the results of at most one batch at a time.

        While a batch is computed, the next one of its group is decoded: two batches are in memory,
        in the size that the model reads. weights: True adds attention maps.
        """
        size, name = self.options.compute.batch_images, ""
        if self.folders is not None:
            name = chosen_model(next(iter(self.folders), None), self.task).name
        draw_hard = not self.options.attention.read_decode  # by argmax, if the mean is read
        steered = {"prefix": self.options.prefix, "look": self.options.look}
        with ImageOpener(self.model, attention=weights, **steered) as opener:
            batches, again, more = tee(
                (opened for group in chunks for opened in opener.opened(group, size)), 3
            )
            shown = (
                [each.shown for each in some if not isinstance(each, str)] for _, some in again
            )
            steering = (
                each.steering for _, some in more for each in some if not isinstance(each, str)
            )
            captions = self.model.batches(shown, attention=weights, steering=steering)
            for (files, images), found in zip(batches, captions, strict=True):
                yield _captioned(files, images, found, draw_hard, name)

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
        from attncli.render.image_attention import maps_as_text

        return maps_as_text(result.attention, current_screen()) if result.attention else ""

    def text(self, result: CaptionedImage) -> str | None:
        """Return the best caption."""
        return result.caption if result.hypotheses else None

    def notes(self, result: CaptionedImage) -> Iterator[str]:
        """Yield why there is no caption, or a warning if it was cut."""
        yield result.note
        if result.hypotheses and result.hypotheses[0].truncated:
            yield f"{result.file.name}: the caption was cut at its length limit {RAISED}"


def _captioned(
    files: Sequence[NamedFile],
    opened: Sequence[OpenedImage | str],
    found: Sequence[Caption],
    draw_hard: bool,
    model: str,
) -> list[CaptionedImage]:
    """Return the results of a batch of files.

    found: captions of those that can be read. model: its name, for pictures.
    """
    captions, outcomes = iter(found), []
    for file, image in zip(files, opened, strict=True):
        if isinstance(image, str):
            outcomes.append(CaptionedImage(file, (), note=image))
            continue
        caption, maps = next(captions), None
        if image.larger and caption.attention:
            from attncli.render.image_maps import attention_maps

            maps = attention_maps(file.name, image.larger, caption.attention, hard=draw_hard)
            maps = maps._replace(model=model)
        outcomes.append(CaptionedImage(file, caption.hypotheses, maps))
    return outcomes


def name_of(file: NamedFile) -> str:
    """Return the name of an image without what would break a row or control a terminal."""
    return printable(one_cell(file.name), keep_surrogates=True)


def figures(outcomes: Iterable[CaptionedImage]) -> bytes:
    """Return the figures of images in a page, or why there is none."""
    from attncli.render.image_attention import fault, figure

    rows = []
    for outcome in outcomes:
        others = [(text, score) for text, score, *_ in outcome.hypotheses[1:]]
        if outcome.attention:
            rows.append(figure(outcome.attention, others))
        else:
            rows.append(fault(outcome.file.name, outcome.note))
    return "".join(f"{row}\n" for row in rows).encode("utf-8", "replace")
