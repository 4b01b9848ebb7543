"""``attn transcribe``: parse the options, run the job, write the transcripts."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attncli.data.named_files import RECORDINGS, is_alone, listed_images, named_images
from attncli.data.streams import check_output
from attncli.options.fields import command
from attncli.options.line_streams import Output, check_shown, write_files
from attncli.options.shared import OneModel, Prefix, Show, look_option
from attncli.task.runner import EqualOutputs
from attncli.terminal import console
from attncli.transcribe._options import TranscribeOptions
from models.core.errors import ModelError

if TYPE_CHECKING:
    from attncli.transcribe.formats import TranscribedFile

Format = Annotated[
    Literal["text", "tsv", "jsonl", "srt", "vtt", "ctm"],
    typer.Option(help="How to write the transcripts: text, data, subtitles or times of words."),
]
PictureFile = Annotated[
    str | None,
    typer.Option(
        "--picture",
        metavar="FILE",
        help="Draw the spectrogram and the attention of each token: a .png, .svg, .pdf, .html "
        "(plays the word that is pointed at) or .npz file. For several recordings: a folder/ or a "
        "name that contains {name}.",
    ),
]


@command
@dataclass(frozen=True)
class TranscribeCommand(TranscribeOptions):
    """Write what is said in recordings.

    The output for one recording is its text; for several, "file <TAB> text", in order. A recording
    that cannot be read is reported on stderr; its row has no text, and the exit status is 1. Long
    recordings are divided at silences. The model in the box, digits, knows the English digits zero
    to nine alone; of other speech it writes nothing. `attn models add openai/whisper-tiny` installs
    a model of any speech. See docs/transcribe.md.

    Example:
      attn transcribe -m runs/speech memo.wav
      attn transcribe -m runs/speech talk.flac --format srt -o talk.srt
      attn transcribe -m runs/speech memo.wav --picture attention.html
      arecord -f S16_LE -r 16000 | attn transcribe -m runs/speech -
    """

    EXAMPLE = "search.max_ratio=1"
    files: Annotated[
        tuple[str, ...],
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Recordings, folders or TAR files of them, or patterns; - reads one from standard "
            "input. Default: paths on standard input, one per line.",
        ),
    ] = ()
    model: OneModel = None
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="LANGUAGE",
            help="Language of the recordings (Whisper: else detected).",
        ),
    ] = ""
    to: Annotated[
        str, typer.Option(metavar="LANGUAGE", help="Whisper: en translates into English.")
    ] = ""
    output_file: Output = None
    format: Format = "text"
    align: Annotated[bool, typer.Option("--align", help="Add the times of the words.")] = False
    channels: Annotated[
        bool, typer.Option("--channels", help="Transcribe each channel (speaker) by itself.")
    ] = False
    prefix: Prefix = ""
    look: Annotated[tuple[str, ...], list[str] | None, look_option("seconds, such as 1.2-2.5")] = ()
    show: Show = False
    picture_file: PictureFile = None

    def run(self) -> None:
        """Transcribe recordings, and write and draw the transcripts."""
        names, format = self.files, self.format
        if not names and (sys.stdin is None or sys.stdin.isatty()):
            raise typer.BadParameter("none given, and no list of them", param_hint="'FILE...'")
        check_output(self.output_file)
        check_shown(self.show, format)
        from attncli.transcribe.runner import TranscribeRunner, drawing  # imports NumPy

        alone = is_alone(names) and not self.channels
        if format in ("srt", "vtt") and not is_alone(names):
            raise ModelError(
                f"{format} for several recordings", "one recording", "write each alone"
            )
        draw = drawing(self.picture_file, console, alone=alone)
        runner = TranscribeRunner.open(self.model, replace(self, alone=alone))
        groups = named_images(names, recursive=True, kind=RECORDINGS)
        if not names:
            groups = listed_images(sys.stdin.buffer)

        equal = EqualOutputs()

        def take(results: list[TranscribedFile]) -> list[str]:
            """Draw the recordings, and report remarks on them, which are no faults."""
            for result in results:
                draw(result)
                equal.count((result.name, result.channel), runner.text(result) or "")
                if result.remark:
                    console.warn(result.remark)
            return []

        weights = self.show or self.picture_file is not None
        done = write_files(
            runner, groups, self.output_file, weights=weights, show=self.show, take=take
        )
        if note := equal.note("recordings", "transcript"):
            console.warn(note)
        raise typer.Exit(not done)
