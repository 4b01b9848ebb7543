"""``attn evaluate transcripts``: error rates of transcripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attncli.options.evaluation import Evaluation, command, files_of
from attncli.scoring.score import System
from attncli.scoring.sequences import error_rate
from attncli.transcribe._examples import read_transcripts
from attncli.transcribe._options import TranscribeOptions
from models.core.errors import ModelError

if TYPE_CHECKING:
    from attncli.transcribe.formats import TranscribedFile


@command
@dataclass(kw_only=True)
class TranscriptEvaluation(Evaluation):
    """Score transcripts by WER and CER.

    WER and CER are the edits over the words or characters of the references, in percent. A
    recording that cannot be read counts as an empty text, and the exit status is 1.

    Example:
      attn evaluate transcripts test.tsv -m runs/speech --audio wavs
      attn evaluate transcripts test.tsv --hypotheses other.txt
    """

    task, unit, options_of = "transcribe", "recording", TranscribeOptions
    EXAMPLE = "search.beam=1"
    metrics = {"WER": error_rate, "CER": partial(error_rate, tokenize=list)}

    file: Annotated[
        Path, typer.Argument(metavar="TRANSCRIPTS", help="References: recording, tab, text.")
    ]
    audio: Annotated[
        Path | None, typer.Option(metavar="DIR|TAR", help="The recordings, which a model needs.")
    ] = None

    def read(self, folders: Sequence[Path]) -> None:
        """Read the references, and find the recordings."""
        rows = read_transcripts(self.file)
        self.references = [[row.text] for row in rows]
        self.counts = {"recordings": len(rows)}
        if folders:
            names = [row.audio for row in rows]
            self.items = files_of(names, self.audio, "--audio", self.file.name)
            if len(self.items) < len(names):
                raise ModelError("a recording with several rows", "one row for each recording")

    def watch(self, result: TranscribedFile) -> None:
        """Report a recording that cannot be read."""
        if result.note:
            self.options.messages.warn(result.note)
            self.failed = True

    def scored(self, systems: list[System]) -> list[System]:
        """Return the systems with WER and CER."""
        return super().scored([one._replace(read="") for one in systems])
