"""Explanation of transcripts, for `attn explain`."""

from __future__ import annotations

from itertools import islice

from attncli.explain.result import ExplainedLine, ExplainItem, empty_output
from attncli.transcribe.runner import TranscribeRunner, recording_in
from models.core.errors import InputError, ModelError
from models.explain import ExplainOptions
from models.speech.explained import explain_transcript
from models.speech.features import log_mel
from models.speech.transcriber import Transcriber


def of_transcript(
    runner: TranscribeRunner, item: ExplainItem, options: ExplainOptions
) -> ExplainedLine:
    """Explain the transcript of a recording of one piece."""
    transcriber, line = runner.model, item.line
    assert item.file
    if not isinstance(transcriber, Transcriber):
        raise InputError(
            f"{line.text} for Whisper",
            "a model of speech that `attn train` made",
            "`attn transcribe --picture` draws its attention",
        )
    found = transcriber.pieces(recording_in(item.file), item.file.name)
    pieces = list(islice(found, 2))
    if len(pieces) != 1:
        raise InputError(
            f"{line.text}, of several pieces", f"at most {transcriber.longest_piece:g} seconds"
        )
    segments = transcriber.heard(pieces)
    known = transcriber.known(segments, item.file.name, 0.0)
    if isinstance(known, ModelError):  # what `attn transcribe` refuses, too
        raise known
    best = segments[0].hypotheses[0]
    features = log_mel(pieces[0].samples, transcriber.config.audio)
    if not best.text.strip():
        return empty_output(line, "transcript")
    return ExplainedLine(
        line, best.text, explain_transcript(transcriber, features, best.ids, options)
    )
