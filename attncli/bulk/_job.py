"""A bulk job: a task, its models and its settings, parsed from the words after `--`.

There is no second list of options: a job takes each option of the task's command, except those of
NOT_IN_BULK, which choose inputs and outputs or draw something.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import typer

from attncli.data.lines import CHUNK_LINES
from attncli.options.fields import HelpPage, function_of
from attncli.options.loading import as_folders, readable
from attncli.task.runner import AnyRunner
from attncli.task.table import TASKS, find_runner
from attncli.version import __version__
from models.core.errors import ConfigurationError
from models.storage.digests import file_digest
from models.storage.installed import chosen_model
from models.storage.settings import NAME as CONFIG
from models.storage.settings import WEIGHTS, Shared, read_settings
from models.text.tokenizer import read_tokenizer

TABLES = {"glossary", "lexicon", "memory"}  # options that are files
PLACES = ("device", "threads", "reverse_model")  # where results are computed; not what they are
# options of tasks that a job does not have, as it has none of a command alone
NOT_IN_BULK = ("links", "align", "channels", "back", "address", "review")


@dataclass(frozen=True)
class BulkJob:
    """Everything that a worker needs in order to process shards."""

    task: str  # a task of attncli.task.table
    models: Sequence[str]  # folders, which every worker reads
    settings: Mapping[str, Any] = field(default_factory=dict)  # parameters of the task's command
    input: str = "lines"  # a kind of attncli.bulk._shards
    fields: Sequence[str] = ()  # of JSON lines: the text; to align: both; of rows: the inputs

    @property
    def threads(self) -> int:
        """Processor threads of a worker; 0: torch decides."""
        return int(self.settings.get("threads", 1))

    @property
    def device(self) -> str:
        """Device of a worker."""
        return str(self.settings.get("device", "auto"))

    def options(self) -> Any:
        """Return the options of the runner; raise an error if they cannot be used."""
        runner = find_runner(self.task)
        options = runner.options_of.of_values(self.settings)
        if options.format not in runner.formats:
            expected = ", ".join(runner.formats)
            raise ConfigurationError(f"--format {options.format}, which is one document", expected)
        return options

    def open(self) -> AnyRunner:
        """Open the models. Raises ModelError if they do not suit the task."""
        models = [Path(model) for model in self.models]
        return find_runner(self.task).open(models, self.options())

    def digest(self) -> str:
        """Return a digest of all that determines the results: models, settings, version of attn.

        Device, threads and the place of a model do not count.
        """
        others = {name: self.settings[name] for name in self.settings if name not in PLACES}
        used = [*self.models, *filter(None, [self.settings.get("reverse_model")])]
        models = [_model_digest(Path(model)) for model in used]
        facts = [self.task, models, others, self.input, self.fields, __version__]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _model_digest(folder: Path) -> str:
    """Return a digest of the files that a model in use consists of."""
    shared = read_settings(folder).get("shared")
    names = [CONFIG, WEIGHTS, *read_tokenizer(folder).files()]
    names += [Shared(**shared).file] if shared else []
    return hashlib.sha256("".join(file_digest(folder / n) for n in names).encode()).hexdigest()


def results_of(runner: AnyRunner, records: Sequence[object]) -> Iterator[Any]:
    """Yield the result of each record, in the chunks that the commands for lines compute.

    Records are lines (attncli.data.lines), or files (named_images).
    """
    for start in range(0, len(records), CHUNK_LINES):
        yield from chunk_results(runner, records[start : start + CHUNK_LINES])


def chunk_results(runner: AnyRunner, records: Sequence[Any]) -> list[Any]:
    """Return the result of each record of a chunk.

    If the chunk raises an exception, each record is processed alone, and those that raise have a
    fault. If every one of several records raises, the task itself fails: the exception is raised.
    """
    try:
        return [*chain.from_iterable(runner.run([records]))]
    except Exception:
        found, failures = list[object](), 0
        for record in records:
            try:
                found += chain.from_iterable(runner.run([[record]]))
            except Exception as error:
                fault = f"not processed ({type(error).__name__}: {error})"
                found += chain.from_iterable(runner.run([[record._replace(fault=fault)]]))
                failures += 1
        if len(found) == failures > 1:
            raise
        return found


def read_job(words: Sequence[str]) -> BulkJob:
    """Return the job of a task's name and the options of its command.

    A worker has one thread unless --threads is given. Raises ModelError for an unknown task, an
    option that a bulk job does not have, and a model that cannot be read; a usage error for
    anything that the command refuses, too.
    """
    name = words[0] if words else ""
    runner = find_runner(name)
    values, flags, given = _parsed(name, words[1:])
    known = {*runner.options_of.names(), "set", "model"} - {*NOT_IN_BULK}
    settings = {one: values[one] for one in sorted(values) if one in known - {"model"}}
    places = [assignment.partition("=")[0].strip() for assignment in settings["set"] or ()]
    left_out = {flag.strip("-") for one, flag in flags.items() if one not in known}
    refused = [given[one] for one in given if one not in known]
    refused += [place for place in places if place.partition(".")[0] in left_out]
    if refused:
        raise ConfigurationError(
            f"{refused[0]} cannot be used in a bulk job",
            hint="leave it out; files, folders and --field stand before `--`",
        )
    options = runner.options_of.of_values(settings)
    for one in TABLES & settings.keys():  # workers need no file
        settings[one] = [list(row) for row in getattr(options, one)] or None
    if reverse := settings.get("reverse_model"):
        settings["reverse_model"] = _folder(reverse, runner.shipped)
    # there is a worker for each processor
    if "threads" not in given:
        settings["threads"] = 1
    models: list[Path | None] = [*as_folders(values["model"])] or [None]
    if "reverse_model" in values and len(models) > 1:
        raise typer.BadParameter("one model", param_hint="'--model'")
    job = BulkJob(name, tuple(_folder(model, runner.shipped) for model in models), settings)
    job.options()
    return job


def _folder(model: Path | None, task: str) -> str:
    """Return the folder of a model; refuse one that cannot be read. task: of the shipped model."""
    return str(readable(chosen_model(model, task)).resolve())


def _parsed(
    name: str, words: Sequence[str]
) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """Return values of the parameters of a command, their options, and those that are given."""
    values: dict[str, object] = {}
    parameters = inspect.signature(resolve_name(TASKS[name].commands[name])).parameters
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(cls=HelpPage)(function_of(parameters.values(), values.update))
    command: Any = typer.main.get_command(app)
    with command.make_context(f"attn {name}", list(words)) as context:
        command.invoke(context)
        given = {
            one.name: one.opts[0] if one.param_type_name == "option" else str(words[-1])
            for one in command.params
            if context.get_parameter_source(one.name).name == "COMMANDLINE"
        }
    return values, {one.name: one.opts[0] for one in command.params}, given
