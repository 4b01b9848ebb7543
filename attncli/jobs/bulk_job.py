"""A bulk job: a task, its models and its settings, parsed from the words after `--`.

There is no second list of options: a job takes each option of the task's command, except those of
NOT_IN_BULK, which choose inputs and outputs or draw something.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import typer

from attncli.data.lines import CHUNK_LINES
from attncli.data.memory import read_memory
from attncli.data.tables import read_glossary, read_lexicon_table
from attncli.jobs.loading import as_folders, readable
from attncli.options.help_page import HelpPage
from attncli.task.runner import AnyRunner
from attncli.task.table import TASKS, find_runner
from attncli.version import __version__
from models.core.errors import ConfigurationError
from models.storage.digests import file_digest
from models.storage.installed import chosen_model
from models.storage.settings import NAME as CONFIG
from models.storage.settings import WEIGHTS, Shared, read_settings
from models.text.tokenizer import read_tokenizer

PLACES = ("device", "threads", "reverse_model")  # where results are computed; not what they are
NOT_IN_BULK = (  # parameters of commands, and tables of these names, that a job does not have
    *("text", "images", "files", "input", "output", "recursive", "column", "field", "sidecar"),
    *("align", "show", "picture", "hypotheses", "into", "strict", "channels"),
    *("prefix_column", "score", "back", "address", "review"),
)


@dataclass(frozen=True)
class BulkJob:
    """Everything that a worker needs in order to process shards."""

    task: str  # a task of attncli.task.table
    models: Sequence[str]  # folders, which every worker reads
    settings: Mapping[str, Any] = field(default_factory=dict)  # parameters of the task's command
    input: str = "lines"  # a kind of attncli.jobs.bulk_shards
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
        options = runner.options_of.of_command(self.settings)
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


def results_of(runner: AnyRunner, records: Sequence[Any]) -> Iterator[Any]:
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
        found, failures = list[Any](), 0
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
    shipped = find_runner(name).shipped
    values, given = _parsed(name, words[1:])
    settings = {one: values[one] for one in sorted(values) if one not in {*NOT_IN_BULK, "model"}}
    places = [assignment.partition("=")[0].strip() for assignment in settings["set"] or ()]
    left_out = {*NOT_IN_BULK} & {*values}
    refused = [given[one] for one in given if one in left_out]
    refused += [place for place in places if place.partition(".")[0] in left_out]
    if refused:
        raise ConfigurationError(
            f"{refused[0]} cannot be used in a bulk job",
            hint="leave it out; files, folders and --field stand before `--`",
        )
    if settings.get("glossary"):  # workers need no file
        settings["glossary"] = [list(term) for term in read_glossary(settings["glossary"]).terms]
    if settings.get("lexicon"):
        settings["lexicon"] = [list(row) for row in read_lexicon_table(settings["lexicon"])]
    if settings.get("memory"):
        languages = settings.get("source", ""), settings.get("to", "")
        settings["memory"] = [list(pair) for pair in read_memory(settings["memory"], *languages)]
    if reverse := settings.get("reverse_model"):
        settings["reverse_model"] = _folder(reverse, shipped)
    # there is a worker for each processor
    if "threads" not in given:
        settings["threads"] = 1
    models: list[Path | None] = [*as_folders(values["model"])] or [None]
    if "reverse_model" in values and len(models) > 1:
        raise typer.BadParameter("one model", param_hint="'--model'")
    job = BulkJob(name, tuple(_folder(model, shipped) for model in models), settings)
    job.options()
    return job


def _folder(model: Path | None, task: str) -> str:
    """Return the folder of a model; refuse one that cannot be read. task: of the shipped model."""
    return str(readable(chosen_model(model, task)).resolve())


def _parsed(name: str, words: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of the parameters of a command, and the names of the given options."""
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
