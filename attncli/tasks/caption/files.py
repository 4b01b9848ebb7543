"""Further files of ``attn caption``: attention maps, and captions in text files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from attncli.data.images.named import STDIN, SUFFIXES
from attncli.data.streams import check_output, open_output
from attncli.render.rows import RowLayout
from attncli.tasks.caption.writers import CaptionedImage, frame, rendered
from attncli.terminal.messages import counted
from models.base.errors import ModelError
from models.base.files import write_bytes, write_errors, write_text

if TYPE_CHECKING:
    from attncli.render.image_attention.maps import AttentionMaps

NAME = "{name}"  # placeholder in file names: the image's name without its suffix
STDIN_NAME = "stdin"

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

    is_folder = place.endswith("/") or Path(place).is_dir()
    pattern = Path(place, f"{NAME}.png") if is_folder else Path(place)
    write = writer_of(pattern)
    if not alone and NAME not in str(pattern):
        if pattern.suffix.lower() != ".html":
            raise typer.BadParameter(
                f"one file for several images; put {NAME} into its name, or give a folder/",
                param_hint="'--picture'",
            )
        with _page(pattern) as draw:
            yield draw
        return
    if place.endswith("/"):
        with write_errors(pattern.parent):
            pattern.parent.mkdir(parents=True, exist_ok=True)
    check_output(pattern)
    yield _Files(pattern, write).draw


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


class _Files:
    """One file per image, named after it; further images of the same name get a number."""

    def __init__(self, pattern: Path, write: Callable[[AttentionMaps], bytes]) -> None:
        self._pattern, self._write = str(pattern), write
        self._names: Counter[str] = Counter()

    def draw(self, outcomes: list[CaptionedImage]) -> None:
        for outcome in outcomes:
            if outcome.attention:
                name = STDIN_NAME if outcome.file.name == STDIN else Path(outcome.file.name).stem
                self._names[name] += 1
                count = self._names[name]
                place = self._pattern.replace(NAME, name if count == 1 else f"{name}-{count}")
                write_bytes(Path(place), self._write(outcome.attention))


@contextmanager
def _page(path: Path) -> Iterator[Draw]:
    layout = RowLayout("html")
    head, foot = frame(layout)
    with open_output(path) as write:
        write(head)
        yield lambda outcomes: write(rendered(outcomes, layout))
        write(foot)
