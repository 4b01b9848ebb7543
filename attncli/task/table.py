"""The table of tasks: one row per task, with the places of its parts.

A task is a folder `attncli/NAME` and a row here. The command line, training, comparisons,
bulk jobs and `attncli.load` read this table. Nothing is imported before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Task(NamedTuple):
    """Places of a task, as module:name; empty for a part that it does not have."""

    commands: Mapping[str, str]  # functions by name; those that score begin with `evaluate`
    training: Mapping[str, str] = {}  # TrainingSource, by kind of input (models/core/sources)
    bulk: str = ""  # BulkTask
    loaded: str = ""  # class that `attncli.load` returns; without one, that of `models.load`


TASKS: dict[str, Task] = {
    "translate": Task(
        {
            "translate": "attncli.translate.command:translate",
            "evaluate": "attncli.commands.evaluate:evaluate",
        },
        training={
            "text": "attncli.translate.source:TextTraining",
            "rows": "attncli.translate.source:RowTraining",
        },
        bulk="attncli.translate.command:TranslateTask",
        loaded="attncli.interface.translator:Translator",
    ),
    "classify": Task(
        {
            "classify": "attncli.classify.command:classify",
            "evaluate labels": "attncli.classify.command:labels",
        },
        training={"labelled_text": "attncli.classify.source:LabelTraining"},
        bulk="attncli.classify.command:ClassifyTask",
        loaded="attncli.interface.classifier:Classifier",
    ),
    "caption": Task(
        {
            "caption": "attncli.caption.command:caption",
            "evaluate captions": "attncli.caption.evaluate_command:captions",
        },
        training={"image": "attncli.caption.source:ImageTraining"},
        bulk="attncli.caption.command:CaptionTask",
        loaded="attncli.interface.captioner:Captioner",
    ),
    "transcribe": Task(
        {
            "transcribe": "attncli.transcribe.command:transcribe",
            "evaluate transcripts": "attncli.transcribe.evaluate_command:transcripts",
        },
        training={"audio": "attncli.transcribe.source:AudioTraining"},
        bulk="attncli.transcribe.command:TranscribeTask",
    ),
    "align": Task(
        {
            "align": "attncli.align.command:align",
            "align train": "attncli.commands.train_aligner:align_train",
            "evaluate alignments": "attncli.align.evaluate_command:alignments",
        },
        bulk="attncli.align.command:AlignTask",
    ),
    "explain": Task({"explain": "attncli.explain.command:explain"}),
}


TRAINING = {kind: place for task in TASKS.values() for kind, place in task.training.items()}
BULK = {name: task.bulk for name, task in TASKS.items() if task.bulk}


def task_commands(*, scoring: bool) -> dict[str, str]:
    """Return the commands of all tasks: those that score outputs, or the others."""
    return {
        name: place
        for task in TASKS.values()
        for name, place in task.commands.items()
        if name.startswith("evaluate") is scoring
    }
