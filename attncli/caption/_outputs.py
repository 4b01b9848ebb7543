"""Files of captions and of their attention maps, and warnings about all captions together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attncli.caption.runner import RAISED, CaptionedImage, figures
from attncli.data.named_files import SUFFIXES
from attncli.data.streams import open_output
from attncli.options.line_streams import NAME, PictureFiles
from attncli.task.runner import EqualOutputs
from attncli.terminal.messages import counted
from models.core.errors import ModelError
from models.core.files import write_bytes, write_text

ALIKE = 0.8  # share of the attention in the same place at every word: the maps hardly differ
Draw = Callable[[list[CaptionedImage]], None]


class CaptionStatistics:
    """Statistics of all captions, for warnings about a model that does not describe its images."""

    def __init__(self) -> None:
        self._truncated = 0
        self._equal = EqualOutputs(share=0.5)
        self._maps = self._alike = self._images = 0

    def count(self, outcomes: Sequence[CaptionedImage]) -> None:
        """Count some captions."""
        for outcome in outcomes:
            if outcome.hypotheses:
                self._images += 1
                self._truncated += outcome.hypotheses[0].truncated
                self._equal.count(self._images, outcome.text)
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
        if note := self._equal.note("images", "caption"):
            yield note


def frame(format: str) -> tuple[bytes, bytes]:
    """Return the bytes before the first result and those after the last: of a page in HTML."""
    if format != "html":
        return b"", b""
    from attncli.render.image_maps import FOOT, HEAD

    return HEAD.encode(), FOOT.encode()


@contextmanager
def open_attention(place: str | None, *, alone: bool) -> Iterator[Draw]:
    """Yield a function that writes attention maps, to one file per image or to one page.

    place: a file for one image; for several, a folder, a name that contains {name}, or one .html
    file. Impossible choices are refused here, before the model runs.
    """
    if place is None:
        yield lambda outcomes: None
        return
    from attncli.render.image_maps import WRITERS, writer_of

    files = PictureFiles(place)
    write_maps = writer_of(files.pattern, WRITERS)
    if not alone and NAME not in str(files.pattern) and files.pattern.suffix.lower() == ".html":
        head, foot = frame("html")
        with open_output(files.pattern) as write:
            write(head)
            yield lambda outcomes: write(figures(outcomes))
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
