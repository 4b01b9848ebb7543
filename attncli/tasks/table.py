"""The table of tasks: one row per task, with the places of its parts.

A task is a folder `attncli/tasks/NAME` and a row here. The command line, training, comparisons,
bulk jobs and `attncli.load` read this table. Nothing is imported before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Task(NamedTuple):
    """Places of a task, as module:name; empty for a part that it does not have."""

    commands: Mapping[str, str]  # functions by name; those that score begin with `evaluate`
    training: Mapping[str, str] = {}  # TrainingSource, by kind of input (models/sources)
    bulk: str = ""  # BulkTask
    loaded: str = ""  # class that `attncli.load` returns; without one, that of `models.load`


TASKS: dict[str, Task] = {
    "translate": Task(
        {
            "translate": "attncli.tasks.translate.command:translate",
            "evaluate": "attncli.commands.evaluate:evaluate",
        },
        training={
            "text": "attncli.tasks.translate.training.source:TextTraining",
            "rows": "attncli.tasks.translate.training.source:RowTraining",
        },
        bulk="attncli.tasks.translate.command:TranslateTask",
        loaded="attncli.interface.translator:Translator",
    ),
    "classify": Task(
        {
            "classify": "attncli.tasks.classify.command:classify",
            "evaluate labels": "attncli.tasks.classify.command:labels",
        },
        training={"labelled_text": "attncli.tasks.classify.training.source:LabelTraining"},
        bulk="attncli.tasks.classify.command:ClassifyTask",
        loaded="attncli.interface.classifier:Classifier",
    ),
    "caption": Task(
        {
            "caption": "attncli.tasks.caption.command:caption",
            "evaluate captions": "attncli.tasks.caption.evaluate_command:captions",
        },
        training={"image": "attncli.tasks.caption.training.source:ImageTraining"},
        bulk="attncli.tasks.caption.command:CaptionTask",
        loaded="attncli.interface.captioner:Captioner",
    ),
    "transcribe": Task(
        {
            "transcribe": "attncli.tasks.transcribe.command:transcribe",
            "evaluate transcripts": "attncli.tasks.transcribe.evaluate_command:transcripts",
        },
        training={"audio": "attncli.tasks.transcribe.training:AudioTraining"},
        bulk="attncli.tasks.transcribe.command:TranscribeTask",
    ),
    "align": Task(
        {
            "align": "attncli.tasks.align.command:align",
            "align train": "attncli.commands.train.aligner:align_train",
            "evaluate alignments": "attncli.tasks.align.evaluate_command:alignments",
        },
        bulk="attncli.tasks.align.command:AlignTask",
    ),
    "explain": Task({"explain": "attncli.tasks.explain.command:explain"}),
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
