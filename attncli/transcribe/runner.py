"""Recordings to transcribe: the only way from files to texts, and their pictures."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from attncli.data.named_files import RECORDINGS, NamedFile
from attncli.data.streams import open_output
from attncli.faithful.look import look_of
from attncli.options import loading
from attncli.options.line_streams import PictureFiles
from attncli.render.image_maps import writer_of
from attncli.task.runner import JsonObject, Models, Runner
from attncli.terminal.messages import Messages, counted, current_screen
from attncli.transcribe._options import TranscribeOptions
from attncli.transcribe.drawing import (
    MAX_DRAWN_SEGMENTS,
    WRITERS,
    page_height,
    sound_maps,
    sound_page,
    strips,
    wav_of,
)
from attncli.transcribe.formats import TIMED, TranscribedFile, record, rendered
from models import load
from models.core.errors import InputError, ModelError
from models.core.types import Span
from models.search.steering import Look, Steering
from models.speech.recordings import Channel, Recording, header, read_sound
from models.speech.transcripts import NamedRecording, SpeechModel

RATE, LONGEST = 16_000, 300  # samples a second, and seconds, of the sound in a page
SECONDS = re.compile(r"\s*(\d{1,9}(?:\.\d{0,9})?)\s*-\s*(\d{1,9}(?:\.\d{0,9})?)\s*")


class TranscribeRunner(Runner[NamedFile, TranscribedFile, SpeechModel, TranscribeOptions]):
    """A model of speech. `run` is the only way to transcripts, for commands, jobs and service."""

    task = shipped = "transcribe"
    doing, unit, into, options_of = "transcribing", "recording", "text", TranscribeOptions
    files, fields, formats = RECORDINGS, 0, ("text", "tsv", "jsonl", "ctm")
    item = RECORDINGS.named

    @classmethod
    def load(cls, models: Models, options: TranscribeOptions) -> SpeechModel:
        """Read a model, or that in the box without one; Whisper needs no torch on a processor."""
        path = loading.model_folder("transcribe", models, options)
        threads, precision = options.threads, options.transcribe.precision
        found: SpeechModel = load(
            path, cls.task, device=options.device, threads=threads, precision=precision
        )
        return found

    @classmethod
    def of(cls, model: SpeechModel, options: TranscribeOptions) -> TranscribeRunner:
        """Return the runner of a model."""
        if options.source or options.to:
            model = model.languages(options.source, options.to)
        model = loading.configured(model, options)  # a copy
        model.vad, model.doubtful = options.transcribe.vad, options.transcribe.doubtful
        return cls(model, options)

    def run(
        self, chunks: Iterable[Sequence[NamedFile]], *, weights: bool = False
    ) -> Iterator[list[TranscribedFile]]:
        """Transcribe recordings, in order; yield them one by one. weights: times and attention."""
        times = self.options.align or self.options.format in TIMED
        waiting: list[TranscribedFile] = []  # recordings that have no result yet

        def named() -> Iterator[NamedRecording]:
            for file in chain.from_iterable(chunks):
                count, remark = 1, ""
                with suppress(ModelError):  # which is reported when it is read
                    if file.opened is None:
                        stated = header(_content(file), file.name)
                        count, remark = stated.channels, stated.shortfall
                for channel in range(1, count + 1) if self.options.channels else (0,):
                    remark = f"{file.name} has {remark}" if remark and channel < 2 else ""
                    waiting.append(TranscribedFile(file, remark=remark, channel=channel, by=self))
                    yield file.name, partial(recording_in, file, channel)

        looks = [look_of(text) for text in self.options.look or ()]
        steering = Steering(
            self.options.prefix,
            tuple(Look((milliseconds_of(where),), *words) for where, words in looks),
        )
        for found in self.model.stream(named(), times=times, attention=weights, steering=steering):
            if isinstance(found, ModelError):
                yield [replace(waiting.pop(0), fault=found, remark="")]
            else:
                result = replace(waiting.pop(0), transcript=found)
                if found.left_out:
                    parts = f"{counted(found.left_out, 'part')} of {result.name} left out"
                    remark = f"{parts}: probably not {self.model.knows}"
                    result = replace(
                        result, remark="; ".join(filter(None, (result.remark, remark)))
                    )
                yield [result]

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
        return strips(sound_maps(result.transcript), current_screen())

    def weighed(self, result: TranscribedFile) -> TranscribedFile:
        """Return a result with attention, for which the recording is transcribed again.

        Raises InputError for a stream, which can be read once, and ModelError for a recording that
        cannot be read any more.
        """
        if not result.text or sound_maps(result.transcript):
            return result
        if hasattr(result.file.opened, "read"):
            raise InputError("a transcript of a stream without attention", "attention=True")
        found = chain.from_iterable(self.run([[result.file]], weights=True))
        again = next(one for one in found if one.fault or one.channel == result.channel)
        if again.fault:
            raise again.fault
        return again

    def page(self, result: TranscribedFile) -> tuple[bytes, int] | None:
        """Return the spectrograms with the attention, and the sound of the word pointed at."""
        if not (maps := sound_maps(result.transcript)):
            return None
        sound = _sound(result, self.options.messages)
        return sound_page(result.name, maps, sound), page_height(maps)

    def text(self, result: TranscribedFile) -> str | None:
        """Return the transcript."""
        return None if result.fault else result.text


def _content(file: NamedFile) -> Path | bytes:
    """Return a recording's path or bytes; raise ModelError if it is not there."""
    if file.fault:
        raise InputError(file.fault)
    return file.content()


def recording_in(file: NamedFile, channel: int = 0) -> Recording:
    """Return a recording, or one of its channels, from 1; raise ModelError if it is not there."""
    if file.opened is not None:
        found: Recording = file.opened
        return found
    return Channel(_content(file), channel - 1) if channel else _content(file)


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
        if len(maps) > MAX_DRAWN_SEGMENTS and drawn in (".png", ".svg", ".pdf"):
            found = f"the first {MAX_DRAWN_SEGMENTS} of {len(maps)} segments"
            messages.warn(f"{path} shows {found}; .html shows all")
        with open_output(path) as write:
            write(writer(file.name, maps, sound))

    return draw


def _sound(file: TranscribedFile, messages: Messages) -> bytes:
    """Return the sound for the page of a recording; nothing if it is too long, or a stream."""
    if file.seconds > LONGEST:
        messages.warn(f"the page has no sound: it contains that of files of {LONGEST} s at most")
        return b""
    try:
        return wav_of(read_sound(recording_in(file.file, file.channel), RATE), RATE)
    except ModelError as error:
        messages.warn(str(error))
        return b""


def milliseconds_of(where: str) -> Span:
    """Return the stretch of a recording that 1.2-2.5 means; raise InputError for another text."""
    found = SECONDS.fullmatch(where)
    start, end = (float(found[1]), float(found[2])) if found else (0.0, 0.0)
    if start >= end:
        raise InputError(f"a look at {where!r}", "seconds of the recording, such as 1.2-2.5")
    return math.floor(1000 * start), math.ceil(1000 * end)
