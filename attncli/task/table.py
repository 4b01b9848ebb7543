"""The table of tasks: one row per task, with the places of its parts.

A task is a folder `attncli/NAME` and a row here. The command line, training, comparisons,
the service, bulk jobs and `attncli.load` read this table. Nothing is imported before it is used.
"""

from __future__ import annotations

from pkgutil import resolve_name

from attncli.task.runner import AnyRunner, Task
from models.core.annexes import entries
from models.core.errors import unknown_name

TASKS: dict[str, Task] = {
    "translate": Task(
        {
            "translate": "attncli.translate.command:TranslateCommand",
            "evaluate": "attncli.translate.evaluate_command:TranslationEvaluation",
        },
        training={"text": "attncli.translate.source:TextTraining"},
        runner="attncli.translate.runner:TranslateRunner",
        loaded="attncli.translate.interface:Translator",
    ),
    "classify": Task(
        {
            "classify": "attncli.classify.command:ClassifyCommand",
            "evaluate labels": "attncli.classify.evaluate_command:LabelEvaluation",
        },
        training={"labelled_text": "attncli.classify.source:LabelTraining"},
        runner="attncli.classify.runner:ClassifyRunner",
        loaded="attncli.classify.interface:Classifier",
    ),
    "caption": Task(
        {
            "caption": "attncli.caption.command:CaptionCommand",
            "evaluate captions": "attncli.caption.evaluate_command:CaptionEvaluation",
        },
        training={"image": "attncli.caption.source:ImageTraining"},
        runner="attncli.caption.runner:CaptionRunner",
        loaded="attncli.caption.interface:Captioner",
    ),
    **{name: resolve_name(place) for name, place in entries("task").items()},
    "align": Task(
        {
            "align": "attncli.align.command:AlignCommand",
            "evaluate alignments": "attncli.align.evaluate_command:AlignmentEvaluation",
        },
        runner="attncli.align.pairs:AlignRunner",
    ),
    "explain": Task({"explain": "attncli.explain.command:ExplainCommand"}),
}


TRAINING = {kind: place for task in TASKS.values() for kind, place in task.training.items()}
TRAINING |= entries("training")
RUNNERS = {name: task.runner for name, task in TASKS.items() if task.runner}


def find_runner(name: str) -> type[AnyRunner]:
    """Return the runner of a task; raise UnknownNameError if no task with one has the name."""
    if name not in RUNNERS:
        raise unknown_name("task", name, RUNNERS, hint="attn bulk IN OUT -- translate --to de")
    found: type[AnyRunner] = resolve_name(RUNNERS[name])
    return found


def task_commands(*, scoring: bool) -> dict[str, str]:
    """Return the commands of all tasks: those that score outputs, or the others."""
    return {
        name: place
        for task in TASKS.values()
        for name, place in task.commands.items()
        if name.startswith("evaluate") is scoring
    }
