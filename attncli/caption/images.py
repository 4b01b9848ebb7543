"""Images to caption, and the files of their maps."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attncli.caption.writers import WRITER, CaptionedImage, frame, rendered
from attncli.data.named_files import IMAGES, STDIN, SUFFIXES, ImageFile
from attncli.data.streams import open_output
from attncli.jobs import loading
from attncli.options.line_streams import NAME, PictureFiles
from attncli.options.settings import Options
from attncli.options.shared import ImageBatches
from attncli.render.rows import RowLayout
from attncli.task.runner import Models, Runner
from attncli.terminal.messages import counted, current_screen
from models.core.errors import ModelError
from models.core.files import write_bytes, write_text
from models.core.limits import IMAGE_PIXELS
from models.core.settings import option
from models.storage.installed import chosen_model

if TYPE_CHECKING:
    from PIL.Image import Image
    from typing_extensions import Self

    from models.engines.captioner import Caption, Captioner, ImageInput


ALIKE = 0.8  # share of the attention in the same place at every word: the maps hardly differ
FEWEST = 10  # images from which on equal captions are reported
RAISED = "(search.max_caption raises the limit)"
REMEMBERED = 1000  # different captions that are counted
SIDE = 448  # minimum side of an image that maps are drawn over, in pixels
THREADS = 2  # images that are decoded at a time
BATCHES = 2  # batches that are decoded or wait for the captioner


OF_TEXTS = "search.max_ratio search.max_extra search.split_above"


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


class CaptionRunner(Runner[ImageFile, CaptionedImage]):
    """A captioner of images. `run` is the only way to captions, for commands, jobs and service."""

    task = shipped = "caption"
    doing, unit, into, options_of = "captioning", "image", "caption", CaptionOptions
    files, fields, item = IMAGES, 0, IMAGES.named
    load = staticmethod(partial(loading.load, task))
    name = ""  # of the model, for pictures

    @classmethod
    def of(cls, model: Captioner, options: CaptionOptions) -> CaptionRunner:
        """Return the runner of a captioner."""
        return cls(loading.configured(cls.task, model, options), options)

    @classmethod
    def open(cls, models: Models, options: CaptionOptions) -> CaptionRunner:
        """Open a captioner, or that in the box without one."""
        folder = chosen_model(next(iter(loading.as_folders(models)), None), cls.task)
        runner = super().open(folder, options)
        runner.name = folder.name
        return runner

    def run(
        self, chunks: Iterable[Sequence[ImageFile]], *, weights: bool = False
    ) -> Iterator[list[CaptionedImage]]:
        """Caption groups of images; yield the results of at most one batch at a time.

        While a batch is computed, the next one of its group is decoded: two batches are in memory,
        in the size that the model reads. weights: True adds attention maps.
        """
        size = self.options.compute.batch_images
        draw_hard = not self.options.attention.read_decode  # by argmax, if the mean is read
        with ImageOpener(self.model, attention=weights) as opener:
            batches, again = tee(
                opened for group in chunks for opened in opener.opened(group, size)
            )
            shown = (
                [each.shown for each in some if not isinstance(each, str)] for _, some in again
            )
            captions = self.model.batches(shown, attention=weights)
            for (files, images), found in zip(batches, captions, strict=True):
                yield _captioned(files, images, found, draw_hard, self.name)

    def rows(self, results: Sequence[CaptionedImage]) -> bytes:
        """Return the rows of some images."""
        return rendered(results, self.layout)

    @cached_property
    def layout(self) -> RowLayout:
        """The layout of the rows."""
        given, several = self.options, self.model.search.nbest > 1
        return RowLayout(
            given.format, several, given.with_scores, self.model.read_mode, alone=given.alone
        )

    def record(self, result: CaptionedImage) -> dict[str, Any]:
        """Return an image with its captions as written to JSON."""
        return WRITER.record(result, self.layout)

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
                from attncli.render.image_maps import mean_overlap

                self._maps += 1
                self._alike += mean_overlap(outcome.attention.maps) >= ALIKE

    def notes(self) -> Iterator[str]:
        """Yield warnings: captions cut at the limit, maps or captions that hardly differ."""
        if self._truncated:
            yield (
                f"captions cut at their length limit: {self._truncated:,} of {self._images:,} "
                f"{RAISED}"
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
    files: Sequence[ImageFile],
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


class OpenedImage(NamedTuple):
    """An image reduced to the sizes needed, so that few are in memory at their full size."""

    shown: ImageInput  # the square that the model receives
    larger: Image | None  # the same square, large enough to draw attention maps over it


class ImageOpener:
    """Threads that open images one batch ahead, in order. attention: True for maps, too."""

    def __init__(self, captioner: Captioner, *, attention: bool) -> None:
        self._captioner, self._attention = captioner, attention
        self._memory = PixelBudget(IMAGE_PIXELS)
        self._pool = ThreadPoolExecutor(THREADS, "images")

    def __enter__(self) -> Self:
        """Return this object; its threads end with the block."""
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def opened(
        self, files: Sequence[ImageFile], size: int
    ) -> Iterator[tuple[Sequence[ImageFile], list[OpenedImage | str]]]:
        """Yield batches of files, and their images or the errors of those that cannot be read."""
        parts = [files[start : start + size] for start in range(0, len(files), size)]
        waiting: list[list[Future[OpenedImage | str]]] = []
        for number, part in enumerate(parts):
            for ahead in parts[number + len(waiting) : number + BATCHES]:
                waiting.append([self._pool.submit(self._open, file) for file in ahead])
            yield part, [future.result() for future in waiting.pop(0)]

    def _open(self, file: ImageFile) -> OpenedImage | str:
        """Open an image; return an error message instead if it cannot be read."""
        from models.signals.images import open_image, to_square

        if file.fault:
            return file.fault
        captioner, config = self._captioner, self._captioner.config.image
        larger = replace(config, size=max(config.size, SIDE))
        try:
            with ExitStack() as held:
                image = open_image(
                    file.content(),
                    name="standard input" if file.name == STDIN else file.name,
                    least=config.size,
                    before=lambda pixels: held.enter_context(self._memory.held(pixels)),
                )
                drawn = to_square(image, larger) if self._attention else None
                return OpenedImage(captioner.reduced(image), drawn)
        except ModelError as error:
            return str(error)


class PixelBudget:
    """Pixels that all threads together may decode at a time; one image alone may have more."""

    def __init__(self, most: int) -> None:
        self._most, self._taken = most, 0
        self._changed = threading.Condition()

    @contextmanager
    def held(self, pixels: int) -> Iterator[None]:
        """Wait until this number of pixels is free, and reserve it during the block."""
        with self._changed:
            self._changed.wait_for(lambda: not self._taken or self._taken + pixels <= self._most)
            self._taken += pixels
        try:
            yield
        finally:
            with self._changed:
                self._taken -= pixels
                self._changed.notify_all()


# Further files of ``attn caption``: attention maps, and captions in text files.


Draw = Callable[[list[CaptionedImage]], None]


@contextmanager
def open_attention(place: str | None, *, alone: bool) -> Iterator[Draw]:
    """Yield a function that writes attention maps, to one file per image or to one page.

    place: a file for one image; for several, a folder, a name that contains {name}, or one .html
    file. Impossible choices are refused here, before the model runs.
    """
    if place is None:
        yield lambda outcomes: None
        return
    from attncli.render.image_attention import writer_of

    files = PictureFiles(place)
    write_maps = writer_of(files.pattern)
    if not alone and NAME not in str(files.pattern) and files.pattern.suffix.lower() == ".html":
        layout = RowLayout("html")
        head, foot = frame(layout)
        with open_output(files.pattern) as write:
            write(head)
            yield lambda outcomes: write(rendered(outcomes, layout))
            write(foot)
        return
    files.check("images", alone=alone)

    def draw(outcomes: list[CaptionedImage]) -> None:
        for outcome in outcomes:
            if outcome.attention:
                write_bytes(files.path(outcome.file.name), write_maps(outcome.attention))

    yield draw


class Sidecars:
    """Text files next to images: photo.txt for photo.jpg, with one caption per line.

    Images that differ in their suffix alone have files of their own: photo.txt for the first one
    in the folder, in alphabetical order, and photo.png.txt for the others.
    """

    def __init__(self, *, overwrite: bool) -> None:
        self._overwrite = overwrite
        self.existing = 0  # files that were not replaced
        self._first: dict[Path, dict[str, str]] = {}  # of each folder: stems to names of images

    def write(self, outcomes: list[CaptionedImage]) -> Iterator[str]:
        """Write the files of some images; yield error messages, but count existing files."""
        for outcome in outcomes:
            path = outcome.file.path
            if not path or not outcome.hypotheses:
                continue
            target = self._place(path)
            if target.exists() and not self._overwrite:
                self.existing += 1
                continue
            lines = (" ".join(hypothesis.text.split()) for hypothesis in outcome.hypotheses)
            try:
                write_text(target, "".join(f"{line}\n" for line in lines))
            except ModelError as error:
                yield str(error)

    def _place(self, path: Path) -> Path:
        """Return the text file of an image, which depends on the names in its folder alone."""
        folder = path.parent
        if folder not in self._first:
            names = sorted(name for name in os.listdir(folder) if name.lower().endswith(SUFFIXES))
            self._first[folder] = {Path(name).stem: name for name in reversed(names)}
        first = self._first[folder].get(path.stem, path.name)
        return path.with_suffix(".txt") if first == path.name else Path(f"{path}.txt")

    def notes(self) -> list[str]:
        """Return a message about the files that were not replaced, if there are any."""
        if not self.existing:
            return []
        return [
            f"{counted(self.existing, 'text file')} existed before, not replaced "
            "(-s output.overwrite=true replaces them)"
        ]
