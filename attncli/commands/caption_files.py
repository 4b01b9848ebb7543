"""Where ``attn caption`` writes beside its output: maps of attention, and text beside pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from attncli.data.streams import open_output
from attncli.render.captions import Layout, Outcome, closing, opening, rendered
from models.errors import ModelError
from models.files import write_bytes, write_text

if TYPE_CHECKING:
    from attncli.render.image_attention.look import Look

NAME = "{name}"  # in the name of a file: the picture's, without its suffix
STDIN_NAME = "stdin"

Draw = Callable[[list[Outcome]], None]


@contextmanager
def open_attention(place: str | None, *, alone: bool) -> Iterator[Draw]:
    """A function that draws the maps of outcomes: into files of their own, or all on one page.

    place: a file for one picture; a name with {name} in it or a folder for several; a single .html
    may hold several pictures. What cannot work is refused before the work.
    """
    if place is None:
        yield lambda outcomes: None
        return
    from attncli.render.image_attention import writer_of

    pattern = _pattern(place)
    write = writer_of(pattern)
    if not alone and NAME not in str(pattern):
        if pattern.suffix.lower() != ".html":
            raise typer.BadParameter(
                f"one file for several pictures; put {NAME} into its name, or give a folder/",
                param_hint="'--attention'",
            )
        with _page(pattern) as draw:
            yield draw
        return
    _check_folder(pattern, create=place.endswith("/"))
    yield _Files(pattern, write).draw


def write_sidecars(outcomes: list[Outcome], *, overwrite: bool) -> Iterator[str]:
    """Write the captions of each picture beside it, photo.txt for photo.jpg; yields complaints."""
    for outcome in outcomes:
        path = outcome.file.path
        if not path or not outcome.hypotheses:
            continue
        target = path.with_suffix(".txt")
        if target.exists() and not overwrite:
            yield f"{target} is there already; kept (--overwrite replaces it)"
            continue
        lines = (" ".join(hypothesis.text.split()) for hypothesis in outcome.hypotheses)
        try:
            write_text(target, "".join(f"{line}\n" for line in lines))
        except ModelError as error:
            yield str(error)


class _Files:
    """A file for each picture, named after it; a second one of a name gets a number."""

    def __init__(self, pattern: Path, write: Callable[[Look], bytes]) -> None:
        self._pattern, self._write = str(pattern), write
        self._names: Counter[str] = Counter()

    def draw(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            if outcome.look:
                write_bytes(self._place(outcome), self._write(outcome.look))

    def _place(self, outcome: Outcome) -> Path:
        path = outcome.file.path
        name = path.stem if path else STDIN_NAME
        self._names[name] += 1
        count = self._names[name]
        return Path(self._pattern.replace(NAME, name if count == 1 else f"{name}-{count}"))


@contextmanager
def _page(path: Path) -> Iterator[Draw]:
    layout = Layout("html")
    with open_output(path) as write:
        write(opening(layout))
        yield lambda outcomes: write(rendered(outcomes, layout))
        write(closing(layout))


def _pattern(place: str) -> Path:
    folder = place.endswith("/") or Path(place).is_dir()
    return Path(place, f"{NAME}.png") if folder else Path(place)


def _check_folder(pattern: Path, *, create: bool) -> None:
    folder = pattern.parent
    if create and not folder.exists():
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise ModelError(f"cannot make the folder {folder}: {error.strerror}") from None
    if not folder.is_dir():
        raise ModelError(f"cannot write {pattern}: no folder {folder}")
