"""``attn evaluate transcripts``: error rates of transcripts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attncli.data.named_files import find_images, open_images
from attncli.data.recordings import read_transcripts
from attncli.data.streams import write_stdout
from attncli.jobs.evaluate import evaluated
from attncli.options import shared
from attncli.options.settings import SetOption
from attncli.render.rows import scores_as_json, scores_as_text
from attncli.scoring.score import MetricScore, System
from attncli.scoring.sequences import error_rate
from attncli.terminal import console
from attncli.transcribe.options import TranscribeOptions
from models.core.errors import ModelError

if TYPE_CHECKING:
    from attncli.render.transcripts import TranscribedFile

Table = Annotated[
    Path, typer.Argument(metavar="TRANSCRIPTS", help="References: recording, tab, text.")
]
Audio = Annotated[
    Path | None, typer.Option(metavar="DIR|TAR", help="The recordings, which a model needs.")
]
Hypotheses = Annotated[
    list[Path] | None,
    typer.Option(help="Texts of another program, a line for each recording. May be repeated."),
]
Set = Annotated[list[str] | None, SetOption(TranscribeOptions, example="search.beam=1")]


def transcripts(
    transcripts: Table,
    *,
    model: shared.ScoredModels = None,
    audio: Audio = None,
    hypotheses: Hypotheses = None,
    save: shared.Save = None,
    json: shared.Json = False,
    device: shared.Device = "auto",
    threads: shared.Threads = 0,
    set: Set = None,
) -> None:
    """Score transcripts by WER and CER.

    WER and CER are the edits over the words or characters of the references, in percent. A
    recording that cannot be read counts as an empty text, and the exit status is 1.

    Example:
      attn evaluate transcripts test.tsv -m runs/speech --audio wavs
      attn evaluate transcripts test.tsv --hypotheses other.txt
    """
    folders = shared.folders_of(model, hypotheses, "transcribe")
    options = TranscribeOptions.of_command(locals(), messages=console)
    shared.check_save(folders, save)
    rows = read_transcripts(transcripts)
    if folders and not audio:
        raise typer.BadParameter("a model needs the recordings", param_hint="'--audio'")
    faults = list[str]()

    def watch(result: TranscribedFile) -> None:
        if result.note:
            options.messages.warn(result.note)
            faults.append(result.note)

    names = [row.audio for row in rows]
    files = find_images(names, open_images(audio), audio.name) if folders and audio else []
    if folders and len(files) < len(rows):
        raise ModelError("a recording with several rows", "one row for each recording")
    found = evaluated("transcribe", folders, files, options, save=save, watch=watch)
    systems = [one.system._replace(read="") for one in found]
    for path in hypotheses or ():
        systems.append(System(path.name, shared.read_outputs(path, len(rows))))
    references = [[row.text] for row in rows]
    for number, system in enumerate(systems):
        wer = MetricScore("WER", error_rate(system.hypotheses, references))
        cer = MetricScore("CER", error_rate(system.hypotheses, references, tokenize=list))
        systems[number] = system._replace(scores=(wer, cer))
    if json:
        write_stdout(scores_as_json({"recordings": len(rows)}, systems, "recordings"))
    else:
        write_stdout(scores_as_text(f"{len(rows):,} recordings", systems, "recordings"))
    if faults:
        raise typer.Exit(1)
