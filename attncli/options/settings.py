"""Settings of a command, ``-s TABLE.KEY=VALUE``: everything that few people change.

Each table has one owner, a settings class (`models.base.settings`). A command lists its tables in
a frozen dataclass, takes the option -s of this class and reads it:

    Set = Annotated[list[str] | None, SetOption(TranslateTables)]

    def translate(*, beam: Beam = None, set: Set = None) -> None:
        given = read_settings(TranslateTables, set, {"search.beam": beam})
        given.tables.compute.batch_tokens  # as given, or the default
        given.of("search")  # {"beam": 2}: settings that are given replace those of the model

`-s help` writes the settings with their documentation, as TOML. ``UNUSED`` of a class of tables
names settings of a table that have no effect on the command; they are refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import typer
from typer.models import OptionInfo

from models.base.errors import UnknownNameError
from models.base.settings import fields_of, flat, overridden, to_dict

T = TypeVar("T")
HELP = "help"  # value of -s that lists the settings
UNUSED = "UNUSED"  # name of a class attribute, a tuple of dotted names


@dataclass(frozen=True)
class GivenSettings(Generic[T]):
    """Settings of a command, and the names of those on the command line."""

    tables: T
    names: tuple[str, ...]  # dotted, as in search.beam

    def of(self, table: str) -> dict[str, Any]:
        """Return the settings of a table that were given, by their names in the table."""
        values = getattr(self.tables, table)
        prefix = f"{table}."
        given = [name.removeprefix(prefix) for name in self.names if name.startswith(prefix)]
        return {name: getattr(values, name) for name in given}


class SetOption(OptionInfo):
    """The option -s of a command. tables: class of its tables, or of the settings of a run."""

    def __init__(self, tables: type, *, example: str = "") -> None:
        example = example or names_of(tables)[0]
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


def read_settings(
    tables: type[T], assignments: Iterable[str] | None, options: Mapping[str, Any] | None = None
) -> GivenSettings[T]:
    """Return the settings after ``table.key=value`` texts.

    options: values by dotted names, from options of their own; None if not given. Raises
    ConfigurationError for a setting that the command does not have, and for a value that it cannot
    have.
    """
    texts = [*(assignments or ())]
    texts += [f"{name}={value}" for name, value in (options or {}).items() if value is not None]
    names = tuple(dict.fromkeys(text.partition("=")[0].strip() for text in texts))
    for name in names:
        if name in getattr(tables, UNUSED, ()):
            found = f"setting '{name}', which has no effect on this command"
            raise UnknownNameError(found, "a setting that `-s help` lists")
    return GivenSettings(overridden(tables(), texts), names)


def names_of(tables: type) -> list[str]:
    """Return the dotted names of all settings of some tables."""
    unused = getattr(tables, UNUSED, ())
    kinds = getattr(tables, "kinds", list)() or [tables()]  # each has a table [data] of its own
    names = dict.fromkeys(name for one in kinds for name in flat(to_dict(one)))
    return [name for name in names if name not in unused]


def listed(tables: type) -> str:
    """Return the settings of some tables with their documentation, as TOML."""
    from attncli.training.settings.toml import to_toml  # imports a package

    text = to_toml(tables(), without=getattr(tables, UNUSED, ())).strip()
    known = set(flat(to_dict(tables())))
    for kind in getattr(tables, "kinds", list)():  # of input: further settings of the table [data]
        names = [f"data.{name}" for name in fields_of(type(kind.data))]
        own = to_toml(kind.data, without=[n for n in names if n in known], section="data")
        known.update(names)
        text = text.replace("\n[model]", f"{own}\n\n[model]", 1)
    return text


def tables_of(command: Callable[..., Any]) -> type | None:
    """Return the class of the tables of a command; None if it has no option -s."""
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        for information in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(information, SetOption):
                return information.tables
    return None
