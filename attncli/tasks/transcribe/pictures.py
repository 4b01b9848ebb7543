"""Attention over time of `attn transcribe` and `attn explain`: pictures and strips."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import typer

from attncli.data.images.named import STDIN
from attncli.data.streams import check_output, open_output
from attncli.render.sound_attention import MOST, sound_maps, sound_writer, strips, wav_of
from attncli.render.transcripts import TranscribedFile
from attncli.terminal.messages import Messages
from attncli.terminal.screen import current_screen
from models.base.errors import ModelError
from models.base.files import write_errors
from models.sound.reading import read_sound

NAME = "{name}"  # placeholder in file names: the recording's name without its suffix
RATE, LONGEST = 16_000, 300  # samples a second, and seconds, of the sound in a page

DrawSound = Callable[[TranscribedFile], None]


def drawing(place: str | None, messages: Messages, *, alone: bool) -> DrawSound:
    """Return the function that writes the picture of a recording; refuse impossible places.

    place: a file for one recording; for several, a folder/ or a name that contains {name}.
    """
    if place is None:
        return lambda file: None
    is_folder = place.endswith("/") or Path(place).is_dir()
    pattern = Path(place, f"{NAME}.png") if is_folder else Path(place)
    writer = sound_writer(pattern)
    if not alone and NAME not in str(pattern):
        raise typer.BadParameter(
            f"one file for several recordings; put {NAME} into its name, or give a folder/",
            param_hint="'--picture'",
        )
    if place.endswith("/"):
        with write_errors(pattern.parent):
            pattern.parent.mkdir(parents=True, exist_ok=True)
    check_output(pattern)
    written: set[Path] = set()

    def draw(file: TranscribedFile) -> None:
        if not file.transcript:
            return
        path = _place(pattern, file.name, written)
        maps, drawn = sound_maps(file.transcript), pattern.suffix.lower()
        sound = _sound(file, messages) if drawn == ".html" else b""
        if len(maps) > MOST and drawn in (".png", ".svg", ".pdf"):
            messages.warn(f"{path} shows the first {MOST} of {len(maps)} segments; .html shows all")
        with open_output(path) as write:
            write(writer(file.name, maps, sound))

    return draw


def _place(pattern: Path, name: str, written: set[Path]) -> Path:
    """Return the file of a recording; recordings of the same name get numbers."""
    stem = "stdin" if name == STDIN else Path(name).stem
    path, count = Path(str(pattern).replace(NAME, stem)), 1
    while path in written:
        count += 1
        path = Path(str(pattern).replace(NAME, f"{stem}-{count}"))
    written.add(path)
    return path


def _sound(file: TranscribedFile, messages: Messages) -> bytes:
    """Return the sound for the page of a recording; nothing if it is too long, or no file."""
    assert file.transcript is not None
    if file.transcript.seconds > LONGEST or not Path(file.name).is_file():
        messages.warn(f"the page has no sound: it contains that of files of {LONGEST} s at most")
        return b""
    try:
        return wav_of(read_sound(Path(file.name), RATE).numpy(), RATE)
    except ModelError as error:
        messages.warn(str(error))
        return b""


def shown(file: TranscribedFile) -> bytes:
    """Return the strips of a recording for the terminal."""
    maps = sound_maps(file.transcript) if file.transcript else []
    return strips(maps, current_screen()).encode("utf-8", "replace")
