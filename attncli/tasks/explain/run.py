"""A run of ``attn explain``: explain lines, write and draw them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from attncli.data.streams import Write, check_output, open_output
from attncli.options.pictures import Drawing, Picture, check_drawing
from attncli.render.image_attention import writer_of
from attncli.tasks.explain.lines import ExplainedLine
from attncli.tasks.explain.writers import WRITERS, heat_map_pair
from attncli.terminal.messages import Messages
from attncli.terminal.screen import Screen, current_screen
from models.base.errors import ConfigurationError, ModelError


class Layout(NamedTuple):
    """Destinations of the explanations."""

    format: str  # of WRITERS
    screen: Screen
    drawing: Drawing  # lines that are shown; its file has heat maps of texts
    show: bool = False  # True draws the maps of an image in the terminal
    picture: Path | None = None  # maps over an image


def layout_of(
    format: str, *, show: bool, picture: Path | None, lines: str, is_image: bool
) -> Layout:
    """Return where explanations go; raise an error before the model runs if that is impossible."""
    screen = current_screen() if show else Screen(current_screen().width)
    if is_image and picture:
        writer_of(picture)
        check_output(picture)
    maps, heat_maps = (picture, None) if is_image else (None, picture)
    return Layout(format, screen, check_drawing(heat_maps, lines, drawn=False), show, maps)


def write_all(
    outcomes: Iterable[ExplainedLine], write: Write, layout: Layout, messages: Messages
) -> int:
    """Write explanations as they finish; return the number of lines without one."""
    picture, refused, told = Picture(layout.drawing), 0, set[str]()
    for outcome in outcomes:
        found = outcome.explanation
        for method, reason in {} if found is None else found.unsupported.items():
            if method not in told:
                messages.say(f"{method} is left out: {reason}")
                told.add(method)
        if found is not None and not found.rows:
            raise ConfigurationError("no method that the model supports", "another --method")
        text = WRITERS[layout.format](outcome, layout.screen, layout.show)
        write(text.encode("utf-8", "replace"))
        if outcome.note:
            messages.warn(outcome.note)
            refused += 1
        if outcome.remark:
            messages.say(outcome.remark)
        if found is not None:
            draw(outcome, picture, layout.picture)
    picture.draw()
    return refused


def draw(outcome: ExplainedLine, picture: Picture, path: Path | None) -> None:
    """Collect the heat map of a text, or write the maps of an image."""
    if outcome.maps is None:
        picture.take([heat_map_pair(outcome)])
    elif path is not None:
        if outcome.line.number > 1:
            raise ModelError(f"--picture {path} for several images", "one image")
        with open_output(path) as write:
            write(writer_of(path)(outcome.maps))
