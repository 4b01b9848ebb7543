"""Transcripts as text, TSV, JSON lines, subtitles (SubRip, WebVTT) or word times (CTM).

- ``text``: the text alone for one recording, ``file <TAB> text`` for several; with --align, the
  start and end of each word in seconds follow: ``three one <TAB> 0.31-0.62 0.90-1.21``.
- ``jsonl``: one object per recording: file, text, seconds and segments with start, end, text,
  score and, with --align, words; or an error.
- ``srt``, ``vtt``: subtitles of at most two lines and six seconds.
- ``ctm``: file, channel, start, duration and word on each line.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from attncli.data.named_files import NamedFile
from attncli.data.streams import as_json_line
from attncli.task.runner import JsonObject, ShownResult
from attncli.terminal.messages import one_cell, printable
from models.core.errors import ModelError
from models.speech.transcripts import SpokenSegment, Transcript, Word

PAUSE, LONGEST = 1.0, 6.0  # seconds: a longer pause divides subtitles; the longest subtitle
WIDTH = 42  # letters of a line of a subtitle, of which there are two at most


@dataclass(frozen=True, eq=False)
class TranscribedFile(ShownResult):
    """A recording with its transcript, or the reason why there is none."""

    file: NamedFile
    transcript: Transcript | None = None
    fault: ModelError | None = None
    remark: str = ""  # on a recording that was transcribed
    channel: int = 0  # from 1, if each is transcribed by itself

    @property
    def name(self) -> str:
        """The name of the recording."""
        return self.file.name

    @property
    def note(self) -> str:
        """Why there is no transcript; empty if there is one."""
        return str(self.fault or "")

    @property
    def text(self) -> str:
        """The text; empty if there is none."""
        return self.transcript.text if self.transcript else ""

    @property
    def score(self) -> float:
        """Mean log-probability of a token, end marks included; 0 of a text without segments."""
        return self.transcript.score if self.transcript else 0.0

    @property
    def seconds(self) -> float:
        """Length of the recording."""
        return self.transcript.seconds if self.transcript else 0.0

    @property
    def segments(self) -> tuple[SpokenSegment, ...]:
        """The parts of the recording with their texts."""
        return self.transcript.segments if self.transcript else ()

    @property
    def words(self) -> tuple[Word, ...]:
        """The words with their times; none if there is no text."""
        return self.transcript.words if self.transcript else ()


def rendered(file: TranscribedFile, format: str, *, alone: bool, align: bool = False) -> bytes:
    """Return a result in a format. alone: there is one recording."""
    if format in TIMED:
        return "".join(TIMED[format](file)).encode("utf-8", "replace")
    channel = f":{file.channel}" if file.channel else ""
    name = "" if alone and format == "text" else f"{_name(file)}{channel}\t"
    if format == "jsonl":
        return (as_json_line(record(file, align=align)) + "\n").encode("utf-8", "replace")
    if not file.transcript and alone:
        return b""
    times = "\t" + " ".join(f"{w.start:.2f}-{w.end:.2f}" for w in file.words) if align else ""
    return f"{name}{one_cell(file.text)}{times}\n".encode("utf-8", "surrogateescape")


def record(file: TranscribedFile, *, align: bool = False) -> JsonObject:
    """Return a result as written to JSON."""
    found: JsonObject = {"file": file.name, "text": file.text if file.transcript else None}
    found |= {"channel": file.channel} if file.channel else {}
    if file.transcript:
        found["seconds"] = round(file.seconds, 3)
        found["segments"] = [
            {
                "start": round(each.start, 3),
                "end": round(each.end, 3),
                "text": each.text,
                "score": each.hypotheses[0].score,
                **({"words": [_word(word) for word in each.words]} if align else {}),
            }
            for each in file.segments
        ]
    return {**found, "error": file.note} if file.note else found


def _word(word: Word) -> JsonObject:
    return {"text": word.text, "start": round(word.start, 3), "end": round(word.end, 3)}


def subtitles(words: tuple[Word, ...]) -> Iterator[tuple[float, float, str]]:
    """Yield start, end and text of subtitles: words without a long pause, of two lines at most."""
    held: list[Word] = []
    for word in words:
        text = " ".join(each.text for each in [*held, word])
        full = held and (word.end - held[0].start > LONGEST or len(text) > 2 * WIDTH)
        if held and (full or word.start - held[-1].end > PAUSE):
            yield _subtitle(held)
            held = []
        held.append(word)
    if held:
        yield _subtitle(held)


def _subtitle(words: list[Word]) -> tuple[float, float, str]:
    text = " ".join(word.text for word in words)
    return words[0].start, words[-1].end, "\n".join(textwrap.wrap(text, WIDTH))


def _srt(file: TranscribedFile) -> Iterator[str]:
    for count, (start, end, text) in enumerate(subtitles(file.words), 1):
        yield f"{count}\n{clock(start, ',')} --> {clock(end, ',')}\n{text}\n\n"


def _vtt(file: TranscribedFile) -> Iterator[str]:
    yield "WEBVTT\n\n"
    for start, end, text in subtitles(file.words):
        yield f"{clock(start, '.')} --> {clock(end, '.')}\n{text.replace('-->', '->')}\n\n"


def _ctm(file: TranscribedFile) -> Iterator[str]:
    for word in file.words:
        place = f"{_name(file).replace(' ', '_')} {file.channel or 1}"
        yield f"{place} {word.start:.2f} {word.end - word.start:.2f} {word.text}\n"


TIMED = {"srt": _srt, "vtt": _vtt, "ctm": _ctm}  # formats that have times of words


def clock(seconds: float, point: str) -> str:
    """Return a time as hh:mm:ss,mmm."""
    total = round(1000 * seconds)
    minutes, rest = divmod(total, 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest // 1000:02}{point}{rest % 1000:03}"


def _name(file: TranscribedFile) -> str:
    """Return the name of a file without what would break a row or control a terminal."""
    return printable(one_cell(file.name), keep_surrogates=True)
