"""A bulk job: task, models and settings, parsed from the words after `--` by the task's command.

There is no second list of options: a task takes each option of its command, except those of
NOT_IN_BULK, which choose inputs and outputs or draw something. A task is a `BulkTask`, named in
attncli.tasks.table: the runner of the task, and the form of its results.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import typer

from attncli.bulk.tasks import BulkTask
from attncli.data.text.tables import read_glossary
from attncli.options.help_page import HelpPage
from attncli.tasks.table import BULK, TASKS
from attncli.version import __version__
from models.base.errors import ConfigurationError, unknown_name
from models.catalogue.installed import chosen_model
from models.storage.digests import file_digest
from models.storage.settings import NAME as CONFIG
from models.storage.settings import WEIGHTS, Shared, read_settings
from models.text.tokenizer import read_tokenizer

NOT_IN_SETTINGS = ("model", "reverse_model", "device", "threads")  # in other fields of BulkJob
NOT_IN_BULK = (  # parameters of commands
    *("text", "images", "files", "input", "output", "recursive", "column", "field", "sidecar"),
    *("align", "show", "picture", "hypotheses", "into", "strict"),
)


@dataclass(frozen=True)
class BulkJob:
    """Everything that a worker needs in order to process shards."""

    task: str  # a task of attncli.tasks.table
    models: Sequence[str]  # folders, which every worker reads
    settings: Mapping[str, Any] = field(default_factory=dict)  # parameters of the task's command
    device: str = "auto"
    threads: int = 1  # of a worker
    input: str = "lines"  # a kind of attncli.bulk.inputs
    fields: Sequence[str] = ()  # of JSON lines: the text; to align: both; of rows: the inputs

    def digest(self) -> str:
        """Return a digest of all that determines the results: models, settings, version of attn.

        Device, threads and the place of a model do not count.
        """
        facts = {**dataclasses.asdict(self), "version": __version__}
        facts["models"] = [_model_digest(Path(model)) for model in self.models]
        del facts["device"], facts["threads"]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _model_digest(folder: Path) -> str:
    """Return a digest of the files that a model in use consists of."""
    shared = read_settings(folder).get("shared")
    names = [CONFIG, WEIGHTS, *read_tokenizer(folder).files()]
    names += [Shared(**shared).file] if shared else []
    return hashlib.sha256("".join(file_digest(folder / n) for n in names).encode()).hexdigest()


def read_job(words: Sequence[str]) -> BulkJob:
    """Return the job of a task's name and the options of its command.

    A worker has one thread unless --threads is given. Raises ModelError for an unknown task, an
    option that a bulk job does not have, and a model that cannot be read; a usage error for
    anything that the command refuses, too.
    """
    name = words[0] if words else ""
    task = bulk_task(name)
    values, given = _parsed(name, words[1:])
    refused = [given[one] for one in given if one in NOT_IN_BULK]
    used = sorted(values.keys() - {*NOT_IN_BULK, *NOT_IN_SETTINGS})
    settings = {parameter: values[parameter] for parameter in used}
    places = [assignment.partition("=")[0].strip() for assignment in settings["set"] or ()]
    refused += [place for place in places if place.partition(".")[0] in task.unused_tables]
    if refused:
        raise ConfigurationError(
            f"{refused[0]} cannot be used in a bulk job",
            hint="leave it out; files, folders and --field stand before `--`",
        )
    if settings.get("glossary"):  # workers need no file
        settings["glossary"] = [list(term) for term in read_glossary(settings["glossary"]).terms]
    task.options(settings)
    threads = values["threads"] if "threads" in given else 1
    return BulkJob(name, _models(task.shipped, values), settings, values["device"], threads)


def _parsed(name: str, words: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Parse words by the options of a command, which is not called.

    Returns the values of all parameters, and the names of the options on the command line.
    """
    values: dict[str, Any] = {}

    @wraps(resolve_name(TASKS[name].commands[name]))
    def store(**found: Any) -> None:
        values.update(found)

    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(cls=HelpPage)(store)
    command: Any = typer.main.get_command(app)
    with command.make_context(f"attn {name}", list(words)) as context:
        command.invoke(context)
        given = {
            one.name: one.opts[0] if one.param_type_name == "option" else str(words[-1])
            for one in command.params
            if context.get_parameter_source(one.name).name == "COMMANDLINE"
        }
    return values, given


def _models(task: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the folders of the models; the reverse one is the last. task: of the shipped model."""
    model = values["model"] or [None]
    given: list[Path | None] = [model] if isinstance(model, Path) else list(model)
    if "reverse_model" in values and len(given) > 1:
        raise typer.BadParameter("one model", param_hint="'--model'")
    given += filter(None, [values.get("reverse_model")])
    found = [chosen_model(model, task) for model in given]
    for folder in found:
        read_settings(folder)  # refuses one that cannot be read, before any work
    return tuple(str(folder.resolve()) for folder in found)


def bulk_task(name: str) -> type[BulkTask]:
    """Return the class of a task; raise UnknownNameError if no task with bulk jobs has the name."""
    if name not in BULK:
        hint = "attn bulk IN OUT -- translate --to de"
        raise unknown_name("task", name, BULK, hint=hint)
    return resolve_name(BULK[name])
