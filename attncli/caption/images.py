"""Images that are opened in threads, one batch ahead of the captioner."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from attncli.data.named_files import STDIN, NamedFile
from attncli.faithful.look import look_of
from models.core.errors import InputError, ModelError
from models.core.limits import IMAGE_PIXELS
from models.search.steering import PLAIN, Look, Steering

if TYPE_CHECKING:
    from pathlib import Path

    from PIL import Image
    from typing_extensions import Self

    from models.engines.captioner import Captioner, ImageInput

THREADS = 2  # images that are decoded at a time
BATCHES = 2  # batches that are decoded or wait for the captioner
SIDE = re.compile(r"\s*(\d{1,9}(?:\.\d{0,9})?)\s*(%?)\s*")


class OpenedImage(NamedTuple):
    """An image reduced to the sizes needed, so that few are in memory at their full size."""

    shown: ImageInput  # the square that the model receives
    larger: Image.Image | None  # the same square, large enough to draw attention maps over it
    steering: Steering  # of its captions


class ImageOpener:
    """Threads that open images one batch ahead, in order. attention: True for maps, too."""

    def __init__(
        self, captioner: Captioner, *, attention: bool, prefix: str = "", look: Sequence[str] = ()
    ) -> None:
        self._captioner, self._attention = captioner, attention
        self._prefix, self._look = prefix, look
        self._memory = PixelBudget(IMAGE_PIXELS)
        self._pool = ThreadPoolExecutor(THREADS, "images")

    def __enter__(self) -> Self:
        """Return this object; its threads end with the block."""
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def opened(
        self, files: Sequence[NamedFile], size: int
    ) -> Iterator[tuple[Sequence[NamedFile], list[OpenedImage | ModelError]]]:
        """Yield batches of files, and their images or the errors of those that cannot be read."""
        parts = [files[start : start + size] for start in range(0, len(files), size)]
        waiting: list[list[Future[OpenedImage | ModelError]]] = []
        for number, part in enumerate(parts):
            for ahead in parts[number + len(waiting) : number + BATCHES]:
                waiting.append([self._pool.submit(self._open, file) for file in ahead])
            yield part, [future.result() for future in waiting.pop(0)]

    def _open(self, file: NamedFile) -> OpenedImage | ModelError:
        """Open an image; return an error instead if it cannot be read."""
        try:
            with ExitStack() as held:
                image = image_of(
                    file,
                    self._captioner,
                    lambda pixels: held.enter_context(self._memory.held(pixels)),
                )
                return self._reduced(image, file.content() if file.opened is None else None)
        except ModelError as error:
            return error

    def _reduced(self, image: ImageInput, content: Path | bytes | None = None) -> OpenedImage:
        """Return an image as the model reads it; features stay. content: of its file."""
        from PIL import Image

        from models.signals.images import in_shape

        captioner, steered = self._captioner, (self._prefix, self._look)
        if not isinstance(image, Image.Image):
            return OpenedImage(image, None, steering_of(captioner, (1, 1), *steered))
        drawn = in_shape(image, captioner.config.image) if self._attention else None
        steering = steering_of(captioner, content or image.size, *steered)
        return OpenedImage(captioner.reduced(image), drawn, steering)


def image_of(
    file: NamedFile, captioner: Captioner, before: Callable[[int], None] = lambda pixels: None
) -> ImageInput:
    """Return the image of a file, or the features that a program gives; raise ModelError if bad.

    before: called with the number of pixels before they are decoded.
    """
    from models.signals.images import open_image

    if file.fault:
        raise InputError(file.fault)
    if file.opened is not None:
        given: ImageInput = file.opened
        return given
    name, least = file.name, captioner.config.image.size
    name = "standard input" if name == STDIN else name
    return open_image(file.content(), name=name, least=least, before=before)


def steering_of(
    captioner: Captioner, image: Path | bytes | tuple[int, int], prefix: str, look: Sequence[str]
) -> Steering:
    """Return what steers the caption of an image: a file or its bytes, or its size in pixels.

    Raises ModelError for a look that no part of the image has, and one that cannot be read.
    """
    from models.signals.images import in_square, size_of

    if not look:
        return Steering(prefix) if prefix.strip() else PLAIN
    size, looks = image if isinstance(image, tuple) else size_of(image), []
    for text in look:
        where, words = look_of(text)
        box = in_square(box_of(where, size), size, captioner.config.image)
        looks.append(Look(captioner.cells(box), *words))
    return Steering(prefix, tuple(looks))


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


def box_of(where: str, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of a frame in shares of an image of a size in pixels.

    Raises InputError for another text.
    """
    sides = [SIDE.fullmatch(side) for side in where.split(",")]
    if len(sides) != 4 or not all(sides):
        raise InputError(
            f"a look at {where!r}",
            "left, top, right and bottom in pixels or per cent, such as 50%,0,100%,100%",
        )
    shares = [
        float(side[1]) / (100 if side[2] else size[at % 2]) for at, side in enumerate(sides) if side
    ]
    left, top, right, bottom = shares
    return left, top, right, bottom
