"""A bulk job: a task, its models and its settings, parsed from the words after `--`.

There is no second list of options: a job takes each option of the task's command, except those of
NOT_IN_BULK, which choose inputs and outputs or draw something.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import typer

from attncli.data.lines import CHUNK_LINES
from attncli.data.tables import read_glossary
from attncli.faithful.result import Line
from attncli.options.help_page import HelpPage
from attncli.task.table import BULK, TASKS
from attncli.version import __version__
from models.core.errors import ConfigurationError, unknown_name
from models.storage.digests import file_digest
from models.storage.installed import chosen_model
from models.storage.settings import NAME as CONFIG
from models.storage.settings import WEIGHTS, Shared, read_settings
from models.text.tokenizer import read_tokenizer

if TYPE_CHECKING:
    from attncli.data.named_files import FileKind
    from attncli.options.settings import Options

MODELS = ("model", "reverse_model")  # parameters of commands that are BulkJob.models
WORKERS = ("device", "threads")  # that do not change the results
NOT_IN_BULK = (
    *("text", "images", "files", "input", "output", "recursive", "column", "field", "sidecar"),
    *("align", "show", "picture", "hypotheses", "into", "strict", "channels"),
)


@dataclass(frozen=True)
class BulkJob:
    """Everything that a worker needs in order to process shards."""

    task: str  # a task of attncli.task.table
    models: Sequence[str]  # folders, which every worker reads; to align: the reverse one is second
    settings: Mapping[str, Any] = field(default_factory=dict)  # parameters of the task's command
    input: str = "lines"  # a kind of attncli.bulk.shards
    fields: Sequence[str] = ()  # of JSON lines: the text; to align: both; of rows: the inputs

    @property
    def threads(self) -> int:
        """Processor threads of a worker; 0: torch decides."""
        return int(self.settings.get("threads", 1))

    @property
    def device(self) -> str:
        """Device of a worker."""
        return str(self.settings.get("device", "auto"))

    def digest(self) -> str:
        """Return a digest of all that determines the results: models, settings, version of attn.

        Device, threads and the place of a model do not count.
        """
        models = [_model_digest(Path(model)) for model in self.models]
        settings = {name: self.settings[name] for name in self.settings if name not in WORKERS}
        facts = [self.task, models, settings, self.input, self.fields, __version__]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _model_digest(folder: Path) -> str:
    """Return a digest of the files that a model in use consists of."""
    shared = read_settings(folder).get("shared")
    names = [CONFIG, WEIGHTS, *read_tokenizer(folder).files()]
    names += [Shared(**shared).file] if shared else []
    return hashlib.sha256("".join(file_digest(folder / n) for n in names).encode()).hexdigest()


class RecordResult(NamedTuple):
    """Result of one record."""

    row: bytes  # rows in the output format
    value: str | None  # the best result as text; None: there is none, the note says why
    notes: tuple[str, ...] = ()

    @property
    def error(self) -> str:
        """Why there is no result; empty if there is one."""
        return "".join(self.notes) if self.value is None else ""


class BulkTask(ABC):
    """Opened models. Records are lines (attncli.data.lines), or files (named_images)."""

    doing: ClassVar[str]  # label of the progress: "translating"
    shipped: ClassVar[str]  # task of the shipped model that is used without -m
    into: ClassVar[str]  # field or column of the results in JSON lines and tables
    options: ClassVar[type[Options]]
    unused: ClassVar[str] = ""  # tables of these that have no effect
    formats: ClassVar[Sequence[str]] = ("text", "tsv", "jsonl")  # others are one document
    documents: ClassVar[str] = ""  # command for documents, whose lines are not records
    files: ClassVar[FileKind | None] = None  # records in folders and archives; None: lines
    fields: ClassVar[int] = 1  # of JSON lines that make up a record
    run: Callable[[Sequence[Any]], Iterable[Any]]  # the runner: one result for each record
    row: Callable[[Any], bytes]  # the rows of a result in the output format

    @abstractmethod
    def __init__(self, job: BulkJob) -> None:
        """Open the models. Raises ModelError if they do not suit the task."""

    @classmethod
    def read(cls, job: BulkJob, **more: Any) -> Any:
        """Return the options of a job; raise an error if they cannot be used."""
        format = job.settings["format"] or ""
        if format not in cls.formats:
            expected = ", ".join(filter(None, cls.formats))
            raise ConfigurationError(f"--format {format}, which is one document", expected)
        return cls.options.of_command(job.settings, **more)

    @abstractmethod
    def failed(self, record: Any, error: str) -> Any:
        """Return the result of a record that could not be processed."""

    @abstractmethod
    def value(self, result: Any) -> tuple[str | None, ...]:
        """Return the best result as text, None if there is none, and notes about it."""

    def record(self, value: Any, number: int) -> Any:
        """Return the record of a value of a table: a text, or path or bytes of an image."""
        return self.files.named(value, number) if self.files else Line(number, value)

    def results(self, records: Sequence[Any]) -> Iterator[RecordResult]:
        """Yield the result of each record, in the chunks that the commands for lines compute."""
        for start in range(0, len(records), CHUNK_LINES):
            for result in results_of(self, records[start : start + CHUNK_LINES]):
                value, *notes = self.value(result)
                yield RecordResult(self.row(result), value, tuple(filter(None, notes)))


def results_of(task: BulkTask, records: Sequence[Any]) -> list[Any]:
    """Return the result of each record of a chunk.

    If the chunk raises an exception, each record is processed alone, and those that raise get an
    error. If every one of several records raises, the task itself fails: the exception is raised.
    """
    try:
        return list(task.run(records))
    except Exception:
        found, failures = list[Any](), 0
        for record in records:
            try:
                found += task.run([record])
            except Exception as error:
                found.append(task.failed(record, f"{type(error).__name__}: {error}"))
                failures += 1
        if len(found) == failures > 1:
            raise
        return found


def bulk_task(name: str) -> type[BulkTask]:
    """Return the class of a task; raise UnknownNameError if no task with bulk jobs has the name."""
    if name not in BULK:
        hint = "attn bulk IN OUT -- translate --to de"
        raise unknown_name("task", name, BULK, hint=hint)
    return resolve_name(BULK[name])


def read_job(words: Sequence[str]) -> BulkJob:
    """Return the job of a task's name and the options of its command.

    A worker has one thread unless --threads is given. Raises ModelError for an unknown task, an
    option that a bulk job does not have, and a model that cannot be read; a usage error for
    anything that the command refuses, too.
    """
    name = words[0] if words else ""
    task = bulk_task(name)
    values, given = _parsed(name, words[1:])
    settings = {one: values[one] for one in sorted(values) if one not in {*NOT_IN_BULK, *MODELS}}
    places = [assignment.partition("=")[0].strip() for assignment in settings["set"] or ()]
    refused = [given[one] for one in given if one in NOT_IN_BULK]
    refused += [place for place in places if place.partition(".")[0] in task.unused.split()]
    if refused:
        raise ConfigurationError(
            f"{refused[0]} cannot be used in a bulk job",
            hint="leave it out; files, folders and --field stand before `--`",
        )
    if settings.get("glossary"):  # workers need no file
        settings["glossary"] = [list(term) for term in read_glossary(settings["glossary"]).terms]
    if "threads" not in given:
        settings["threads"] = 1
    job = BulkJob(name, _models(task.shipped, values), settings)
    task.read(job)
    return job


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
