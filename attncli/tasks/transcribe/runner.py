"""Recordings to transcribe: the only way from files to texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from attncli.data.images.named import ImageFile
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions
from attncli.render.transcripts import TranscribedFile
from models.base.errors import InputError, ModelError
from models.inference.search.batching import windows
from models.inference.transcriber import BATCH_PIECES, Segment, Transcriber, Transcript
from models.sound.silences import Piece


class TranscribeRunner:
    """A model of speech. `run` is the only way to transcripts, for commands, jobs and service."""

    def __init__(self, transcriber: Transcriber) -> None:
        self.transcriber = transcriber

    @classmethod
    def open(cls, model: Path | None, options: OpenOptions) -> TranscribeRunner:
        """Open a model, or that in the box without one."""
        return cls(loading.open_transcriber(model, options))

    def run(
        self, files: Iterable[ImageFile], *, times: bool = False, weights: bool = False
    ) -> Iterator[TranscribedFile]:
        """Transcribe recordings; yield the results in order.

        Pieces of consecutive recordings are computed together; few are in memory at a time. times:
        True adds the times of words; weights: True adds times and attention.
        """
        segments: list[Segment] = []
        for group in windows(self._pieces(files), BATCH_PIECES):
            pieces = [each for each in group if isinstance(each, Piece)]
            heard = iter(self.transcriber.heard(pieces, times=times, attention=weights))
            for each in group:
                if isinstance(each, Piece):
                    segments.append(next(heard))
                    continue
                found = Transcript(tuple(segments), segments[-1].end if segments else 0.0)
                yield each if each.note else each._replace(transcript=found)
                segments = []

    def _pieces(self, files: Iterable[ImageFile]) -> Iterator[Piece | TranscribedFile]:
        """Yield the pieces of each recording, and behind them its result without a transcript."""
        for file in files:
            note = ""
            try:
                if file.fault:
                    raise InputError(file.fault)
                yield from self.transcriber.pieces(file.content(), file.name)
            except ModelError as error:
                note = str(error)
            yield TranscribedFile(file.name, None, note)
