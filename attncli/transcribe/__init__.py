"""Transcription of recordings: input, run, outputs, scores."""

from attncli.task.runner import Task

TASK = Task(
    {
        "transcribe": "attncli.transcribe.command:TranscribeCommand",
        "evaluate transcripts": "attncli.transcribe.evaluate_command:TranscriptEvaluation",
    },
    training={"audio": "attncli.transcribe.source:AudioTraining"},
    runner="attncli.transcribe.runner:TranscribeRunner",
    loaded="attncli.transcribe.interface:SpeechModel",
)
