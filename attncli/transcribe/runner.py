"""Recordings to transcribe: the only way from files to texts, and their pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from attncli.data.named_files import RECORDINGS, ImageFile
from attncli.data.streams import open_output
from attncli.jobs import loading
from attncli.options.line_streams import PictureFiles
from attncli.render.image_attention import writer_of
from attncli.render.sound_attention import MOST, WRITERS, sound_maps, strips, wav_of
from attncli.render.transcripts import TIMED, TranscribedFile, record, rendered
from attncli.task.runner import JsonObject, Runner
from attncli.terminal.messages import Messages, current_screen
from attncli.transcribe.options import TranscribeOptions
from models.core.errors import InputError, ModelError
from models.engines.transcriber import NamedRecording, Transcriber
from models.signals.recordings import Channel, channel_count, read_sound, shortfall


class TranscribeRunner(Runner[ImageFile, TranscribedFile]):
    """A model of speech. `run` is the only way to transcripts, for commands, jobs and service."""

    task = shipped = "transcribe"
    doing, unit, into, options_of = "transcribing", "recording", "text", TranscribeOptions
    files, fields, formats = RECORDINGS, 0, ("text", "tsv", "jsonl", "ctm")
    load, item = staticmethod(partial(loading.load, task)), RECORDINGS.named

    @classmethod
    def of(cls, model: Transcriber, options: TranscribeOptions) -> TranscribeRunner:
        """Return the runner of a model."""
        model = loading.configured(cls.task, model, options)  # a copy
        model.vad = options.transcribe.vad
        return cls(model, options)

    def run(
        self, chunks: Iterable[Sequence[ImageFile]], *, weights: bool = False
    ) -> Iterator[list[TranscribedFile]]:
        """Transcribe recordings, in order; yield them one by one. weights: times and attention."""
        channels = self.options.channels
        times = self.options.align or self.options.format in TIMED
        waiting: list[tuple[ImageFile, int]] = []  # recordings that have no result yet; channel

        def named() -> Iterator[NamedRecording]:
            for file in chain.from_iterable(chunks):
                for channel in range(1, _count(file) + 1) if channels else (0,):
                    waiting.append((file, channel))
                    yield file.name, partial(_content, file, channel)

        for found in self.model.stream(named(), times=times, attention=weights):
            file, channel = waiting.pop(0)
            if isinstance(found, ModelError):
                yield [TranscribedFile(file.name, None, str(found), channel=channel)]
            else:
                remark = "" if channel > 1 else shortfall(file.content(), file.name)
                yield [TranscribedFile(file.name, found, remark=remark, channel=channel)]

    def rows(self, results: Sequence[TranscribedFile]) -> bytes:
        """Return the rows of some recordings."""
        given = self.options
        return b"".join(
            rendered(one, given.format, alone=given.alone, align=given.align) for one in results
        )

    def record(self, result: TranscribedFile) -> JsonObject:
        """Return a recording with its transcript as written to JSON."""
        return record(result, align=self.options.align)

    def heat_map(self, result: TranscribedFile) -> str:
        """Return the strips of attention over time."""
        maps = sound_maps(result.transcript) if result.transcript else []
        return strips(maps, current_screen())

    def text(self, result: TranscribedFile) -> str | None:
        """Return the transcript."""
        return None if result.note else result.text


def _count(file: ImageFile) -> int:
    """Return the number of channels of a recording; 1 if it cannot be read, which is reported."""
    try:
        return channel_count(_content(file), file.name)
    except ModelError:
        return 1


def _content(file: ImageFile, channel: int = 0) -> Any:
    """Return a recording's path or bytes, or one channel; raise ModelError if it is not there."""
    if file.fault:
        raise InputError(file.fault)
    return Channel(file.content(), channel - 1) if channel else file.content()


# Attention over time of `attn transcribe` and `attn explain`: pictures and strips.


RATE, LONGEST = 16_000, 300  # samples a second, and seconds, of the sound in a page

DrawSound = Callable[[TranscribedFile], None]


def drawing(place: str | None, messages: Messages, *, alone: bool) -> DrawSound:
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
        return wav_of(read_sound(Path(file.name), RATE).numpy(), RATE)
    except ModelError as error:
        messages.warn(str(error))
        return b""
