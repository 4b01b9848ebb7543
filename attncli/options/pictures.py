"""Pictures of alignments or coloured words that a command writes in addition to its results.

The writers are imported when something is drawn, so that a command starts faster without.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import typer

from attncli.data.panels import AlignedPair, WeightedText
from attncli.data.streams import check_output, open_output
from attncli.terminal import console
from models.base.errors import ConfigurationError

Drawn = AlignedPair | WeightedText
ALIGNMENTS = "attncli.render.alignment.writers"
WEIGHTED_TEXTS = "attncli.render.alignment.weighted_text"


class Drawing(NamedTuple):
    """Requested picture: its file, its format and the pairs it shows."""

    path: Path | None = None
    format: str = ""
    chosen: Sequence[range] = ()  # empty: the first pairs

    @property
    def heads(self) -> bool:
        """True if the picture shows the weights of every head."""
        from attncli.render.alignment.writers import FORMATS

        return bool(self.format) and FORMATS[self.format].heads

    def wants(self, pair: Drawn) -> bool:
        """Return True if the picture shows a pair."""
        return not self.chosen or any(pair.number in some for some in self.chosen)


class Picture:
    """Pairs collected for a picture. writers: the module that draws them."""

    def __init__(self, drawing: Drawing, writers: str = ALIGNMENTS) -> None:
        self.drawing, self.writers = drawing, writers
        self.pairs: list[Drawn] = []
        self.left_out = 0

    def take(self, pairs: Iterable[Drawn]) -> None:
        """Collect the pairs that will be drawn."""
        if not self.drawing.path:
            return
        from attncli.render.alignment.writers import FORMATS

        most = None if self.drawing.chosen else FORMATS[self.drawing.format].most
        for pair in filter(self.drawing.wants, pairs):
            if most is None or len(self.pairs) < most:
                self.pairs.append(pair)
            else:
                self.left_out += 1

    def draw(self) -> None:
        """Write the file, and report the pairs that are not in it."""
        path, name, _ = self.drawing
        if not path:
            return
        writers = import_module(self.writers)
        if name in ("png", "pdf"):
            from attncli.render.alignment.figures import undrawable

            if problem := undrawable([text for pair in self.pairs for text in pair.drawn]):
                console.warn(f"{path}: {problem}")
        if self.drawing.chosen and not self.pairs:
            console.warn(f"{path} shows nothing: none of the lines of picture.lines has a result")
        if self.left_out:
            total = len(self.pairs) + self.left_out
            console.warn(
                f"{path} shows pairs 1 to {len(self.pairs):,} of {total:,}; "
                "-s picture.lines=RANGE selects others"
            )
        with open_output(path) as write:
            write(writers.written(self.pairs, name))


def check_drawing(
    path: Path | None, lines: str, *, drawn: bool = True, arrays: bool = False
) -> Drawing:
    """Return the requested drawing; raise an error before the model runs if it is impossible.

    lines: the setting picture.lines. drawn: True if heat maps are drawn in the terminal.
    arrays: True accepts .npz.
    """
    if lines and not (path or drawn):
        raise ConfigurationError("picture.lines without a picture", "--show or --picture")
    try:
        chosen = numbers(lines) if lines else ()
    except ValueError:
        raise ConfigurationError(f"picture.lines={lines}", "lines such as 1-20,35") from None
    if not path:
        return Drawing(chosen=chosen)
    from attncli.render.alignment.writers import format_of

    name = format_of(path, pictures=True, arrays=arrays)
    check_output(path)
    return Drawing(path, name, chosen)


def check_shown(show: bool, format: str) -> None:
    """Raise a usage error for drawings in the terminal among rows for programs."""
    if show and format != "text":
        raise typer.BadParameter(
            f"cannot be combined with --format {format}", param_hint="'--show'"
        )


def numbers(text: str) -> Sequence[range]:
    """Return the numbers that `1-20,35` means; a ValueError if the syntax is wrong."""
    found = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        start = int(first)
        found.append(range(start, int(last if dash else first) + 1))
        if start < 1 or not found[-1]:
            raise ValueError(part)
    return found
