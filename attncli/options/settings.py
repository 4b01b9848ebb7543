"""Options of a command, and its settings ``-s TABLE.KEY=VALUE``: what few people change.

Each table has one owner, a settings class (`models.core.settings`). A task has one class of options
with its tables and the options that all doors have; its command is a subclass (`options.fields`).

    options = TranslateOptions.read(["search.beam=2"], device="auto")
    options.compute.batch_tokens  # as given, or the default
    options.of("search")  # {"beam": 2}: settings that are given replace those of the model

`-s help` writes the settings with their documentation, as TOML.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import typer
from typer.models import OptionInfo

from attncli.options.shared import Device, Threads
from attncli.terminal import console
from attncli.terminal.messages import Messages, Silent
from models.core.attention_config import ReadMode
from models.core.errors import UnknownNameError
from models.core.settings import check_needs, fields_of, flat, option, overridden, to_dict
from models.core.use_config import SearchConfig

if TYPE_CHECKING:
    from typing_extensions import Self

HELP = "help"  # value of -s that lists the settings


@dataclass(frozen=True)
class HardAttention:
    """Use of a model with hard attention."""

    read_decode: str = option(
        "",
        "hard attention: read mode, argmax, sample or expected (empty: as saved with the model)",
        choices=("", *get_args(ReadMode)),
    )


@dataclass(frozen=True)
class Options:
    """How a command does its work. Each task has a subclass with tables and fields of its own."""

    TABLES: ClassVar[str] = ""  # fields that -s changes, in the order of `-s help`
    # options of the command line that are settings; their fields, if there are any, stay None
    ASSIGNED: ClassVar[Mapping[str, str]] = {"beam": "search.beam", "nbest": "search.nbest"}
    UNUSED: ClassVar[str] = ""  # settings of these that have no effect; refused
    EXAMPLE: ClassVar[str] = ""  # a setting, on the help page; "": the first one

    device: Device = "auto"
    threads: Threads = 0
    to: str = ""  # target language of a multilingual model
    source: str = ""  # source language; only checked
    mixed: bool = False  # models of a single direction ignore the languages instead of refusing
    messages: Messages = field(default=Silent(), repr=False)  # receives remarks about the models
    given: tuple[str, ...] = ()  # settings of the command line, as search.beam; others are defaults
    format: str = "text"  # of the rows of results
    with_scores: bool = False  # True puts the score before each output
    alone: bool = False  # True for the only file of a command, whose row has no name
    prefix: str = ""  # text that each output begins with
    look: tuple[str, ...] = ()  # where each output looks; see attncli.faithful.look
    search: SearchConfig = option(SearchConfig, "search; the model has its own defaults")
    attention: HardAttention = option(HardAttention, "attention")

    @classmethod
    def read(cls, assignments: Iterable[str] | None = None, **options: Any) -> Self:
        """Return the options of a command line.

        assignments: settings, ``table.key=value``. options: fields and settings of ASSIGNED by
        their names; None is not given. Raises ConfigurationError for a setting that the command
        does not have, for a value that it cannot have, and for a search without effect or result.
        """
        options = given_values(cls, options)
        own = {name: options[name] for name in options.keys() - cls.ASSIGNED.keys()}
        texts = [*(assignments or ())]
        texts += [f"{n}={options[one]}" for one, n in cls.ASSIGNED.items() if one in options]
        given = tuple(dict.fromkeys(text.partition("=")[0].strip() for text in texts))
        for name in given:
            if name in cls.UNUSED.split():
                found = f"setting '{name}', which has no effect on this command"
                raise UnknownNameError(found, "a setting that `-s help` lists")
        read = overridden(cls(**own, given=given), texts)
        check_needs(read, cls(**own), given)
        check_search(read.search)
        return read

    @classmethod
    def of_command(cls, *, set: Iterable[str] | None, **values: Any) -> Self:
        """Return the command that a command line describes."""
        return cls.read(set, **values, messages=console)

    @classmethod
    def of_values(cls, values: Mapping[str, Any], **more: Any) -> Self:
        """Return the options among the values of a command, by their names. more: others."""
        own = {name: values[name] for name in values.keys() & cls.names()}
        return cls.read(values["set"], **own, **more)

    @classmethod
    def names(cls) -> set[str]:
        """Return the names of the options: fields that are no tables, and settings of ASSIGNED."""
        is_table, fields = dataclasses.is_dataclass, dataclasses.fields(cls)
        found = {each.name for each in fields if not is_table(each.default_factory)}
        return {*found, *cls.ASSIGNED}

    def of(self, table: str) -> dict[str, Any]:
        """Return the settings of a table that were given, by their names in the table."""
        values, prefix = getattr(self, table), f"{table}."
        given = [name.removeprefix(prefix) for name in self.given if name.startswith(prefix)]
        return {name: getattr(values, name) for name in given}


def given_values(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are not None, as tuples for fields of several values.

    kind: the dataclass with the fields.
    """
    several = {each.name for each in dataclasses.fields(kind) if each.default == ()}
    given = {name: value for name, value in values.items() if value is not None}
    return given | {name: tuple(given[name]) for name in several & given.keys()}


def check_search(search: SearchConfig) -> None:
    """Raise an error for search settings that have no result."""
    if search.nbest > 1 and search.method == "greedy":
        raise typer.BadParameter(
            f"{search.nbest} outputs of greedy search, which has 1; expected search.method=beam",
            param_hint="'--nbest'",
        )


class SetOption(OptionInfo):
    """The option -s of a command. tables: class of its tables, or of the settings of a run."""

    def __init__(self, tables: type, *, example: str = "") -> None:
        if not example:
            name = names_of(tables)[0]
            example = f"{name}={flat(to_dict(tables()))[name]}"
        super().__init__(
            default=...,
            param_decls=("--set", "-s"),
            metavar="KEY=VALUE",
            is_eager=True,
            callback=self._write,
            help=f"Change a setting, such as {example} (repeatable); `-s help` lists all.",
        )
        self.tables = tables

    def _write(self, value: list[str] | None) -> list[str] | None:
        """Write the settings and exit if one of the values is `help`."""
        if value and HELP in value:
            typer.echo(listed(self.tables))
            raise typer.Exit
        return value


def names_of(tables: type) -> list[str]:
    """Return the dotted names of all settings of some tables."""
    unused = getattr(tables, "UNUSED", "").split()
    kinds = getattr(tables, "kinds", list)() or [tables()]  # each has a table [data] of its own
    names = dict.fromkeys(name for one in kinds for name in flat(to_dict(one)))
    return [name for name in names if name not in unused]


def listed(tables: type) -> str:
    """Return the settings of some tables with their documentation, as TOML."""
    from attncli.training.config import to_toml  # imports a package

    kinds: list[Any] = getattr(tables, "kinds", list)()  # of input: with settings of [data]
    usual = kinds[0] if kinds else tables()
    text = to_toml(usual, without=getattr(tables, "UNUSED", "").split()).strip()
    known = set(flat(to_dict(usual)))
    for kind in sorted(kinds, key=_has_tables):  # a line behind [data.augment] would belong to it
        names = [f"data.{name}" for name in fields_of(type(kind.data))]
        own = to_toml(kind.data, without=[n for n in names if n in known], section="data")
        known.update(names)
        text = text.replace("\n[model]", f"{own}\n\n[model]", 1)
    return text


def _has_tables(kind: Any) -> bool:
    return any(isinstance(value, dict) for value in to_dict(kind.data).values())
