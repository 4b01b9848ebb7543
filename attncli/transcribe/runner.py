"""Recordings to transcribe: the only way from files to texts, and their pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from attncli.data.named_files import ImageFile
from attncli.data.streams import open_output
from attncli.jobs import loading
from attncli.options.line_streams import PictureFiles
from attncli.options.settings import Options
from attncli.render.image_attention import writer_of
from attncli.render.sound_attention import MOST, WRITERS, sound_maps, strips, wav_of
from attncli.render.transcripts import TranscribedFile
from attncli.terminal.messages import Messages, current_screen
from models import load_transcriber
from models.core.errors import InputError, ModelError
from models.engines.transcripts import NamedRecording, SpeechModel
from models.signals.recordings import Channel, header, read_sound
from models.storage.installed import chosen_model
from models.storage.settings import read_settings

RATE, LONGEST = 16_000, 300  # samples a second, and seconds, of the sound in a page


class TranscribeRunner:
    """A model of speech. `run` is the only way to transcripts, for commands, jobs and service."""

    def __init__(self, transcriber: SpeechModel) -> None:
        self.transcriber = transcriber

    @classmethod
    def open(cls, model: Path | None, options: Options) -> TranscribeRunner:
        """Open a model, or that in the box without one. Whisper needs no torch on a processor."""
        path, given = chosen_model(model, "transcribe"), options.of("transcribe")
        loading.say_licence(path, read_settings(path), options.messages)
        loading.retain_memory()
        precision = given.get("precision", "auto")
        opened = load_transcriber(
            path, device=options.device, threads=options.threads, precision=precision
        )
        opened.vad = bool(given.get("vad"))
        return cls(loading.configured("transcribe", opened, options))

    def run(
        self,
        files: Iterable[ImageFile],
        *,
        times: bool = False,
        weights: bool = False,
        channels: bool = False,
    ) -> Iterator[TranscribedFile]:
        """Transcribe recordings, in order.

        times: of words; weights: times and attention. channels: each has a result of its own.
        """
        waiting: list[TranscribedFile] = []  # recordings that have no result yet

        def named() -> Iterator[NamedRecording]:
            for file in files:
                count, remark = 1, ""
                with suppress(ModelError):  # which is reported when it is read
                    stated = header(_content(file), file.name)
                    count, remark = stated.channels, stated.shortfall
                for channel in range(1, count + 1) if channels else (0,):
                    remark = f"{file.name} has {remark}" if remark and channel < 2 else ""
                    waiting.append(TranscribedFile(file.name, remark=remark, channel=channel))
                    yield file.name, partial(_content, file, channel)

        for found in self.transcriber.stream(named(), times=times, attention=weights):
            if isinstance(found, ModelError):
                yield waiting.pop(0)._replace(note=str(found), remark="")
            else:
                yield waiting.pop(0)._replace(transcript=found)


def _content(file: ImageFile, channel: int = 0) -> Any:
    """Return a recording's path or bytes, or one channel; raise ModelError if it is not there."""
    if file.fault:
        raise InputError(file.fault)
    return Channel(file.content(), channel - 1) if channel else file.content()


def drawing(
    place: str | None, messages: Messages, *, alone: bool
) -> Callable[[TranscribedFile], None]:
    """Return the function that writes the picture of a recording; refuse impossible places.

    place: a file for one recording; for several, a folder/ or a name that contains {name}.
    """
    if place is None:
        return lambda file: None
    files = PictureFiles(place)
    writer, drawn = writer_of(files.pattern, WRITERS), files.pattern.suffix.lower()
    files.check("recordings", alone=alone)

    def draw(file: TranscribedFile) -> None:
        if not file.transcript:
            return
        path, maps = files.path(file.name), sound_maps(file.transcript)
        sound = _sound(file, messages) if drawn == ".html" else b""
        if len(maps) > MOST and drawn in (".png", ".svg", ".pdf"):
            messages.warn(f"{path} shows the first {MOST} of {len(maps)} segments; .html shows all")
        with open_output(path) as write:
            write(writer(file.name, maps, sound))

    return draw


def _sound(file: TranscribedFile, messages: Messages) -> bytes:
    """Return the sound for the page of a recording; nothing if it is too long, or no file."""
    assert file.transcript is not None
    if file.transcript.seconds > LONGEST or not Path(file.name).is_file():
        messages.warn(f"the page has no sound: it contains that of files of {LONGEST} s at most")
        return b""
    try:
        return wav_of(read_sound(Path(file.name), RATE), RATE)
    except ModelError as error:
        messages.warn(str(error))
        return b""


def shown(file: TranscribedFile) -> bytes:
    """Return the strips of a recording for the terminal."""
    maps = sound_maps(file.transcript) if file.transcript else ()
    return strips(maps, current_screen()).encode("utf-8", "replace")
