"""Settings classes: fields, files, command lines."""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from models.core.errors import ConfigurationError, unknown_name
from models.core.registry import is_name as is_registered
from models.core.registry import names as registered_names
from models.core.registry import package_hint

C = TypeVar("C")
F = TypeVar("F", bound=Callable[[type], Any])
V = TypeVar("V")
Tables = Mapping[str, Mapping[str, Any]]  # settings by table
Values = dict[str, Any]  # settings by name, as JSON and TOML store them, tables in tables
TYPE_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}

# ceilings, so that a damaged or hostile config.json cannot ask for unbounded work
MAX_SIZE = 2**16  # features of a layer
MAX_LAYERS = 256
MAX_SLOTS = 2**20  # source and target lengths
MAX_SEED = 2**63 - 1

ABSENT = (None, "", "none", 0, False, ())  # values without effect

DEEPEST = 1000  # parts of a dotted key of TOML, whose time grows with their square


@dataclass(frozen=True)
class Limits:
    """Values that a setting accepts: a list of choices, or a range."""

    choices: tuple[str, ...] = ()
    registry: str = ""  # kind of models.core.registry whose names are further choices
    least: float | None = None
    above: float | None = None
    below: float | None = None
    at_most: float | None = None

    @property
    def allowed(self) -> tuple[str, ...]:
        """The choices, registered ones included; empty if any value is accepted."""
        registered = registered_names(self.registry) if self.registry else ()
        return (*self.choices, *registered)

    def allows(self, text: str) -> bool:
        """Return True if a text is one of the choices, or any text is accepted."""
        if text in self.choices:
            return True  # first, because names of installed packages are slow to find
        return is_registered(self.registry, text) if self.registry else not self.choices

    @property
    def range(self) -> str:
        """The range in words, as in "at least 0 and below 1"."""
        bounds = {
            "at least": self.least,
            "above": self.above,
            "below": self.below,
            "at most": self.at_most,
        }
        return " and ".join(f"{word} {b}" for word, b in bounds.items() if b is not None)

    def contains(self, number: float) -> bool:
        """Return True if a number is finite and within the range."""
        return (
            math.isfinite(number)
            and (self.least is None or number >= self.least)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
            and (self.at_most is None or number <= self.at_most)
        )


class Need(NamedTuple):
    """Another setting, without which a setting has no effect."""

    # "train.schedule=plateau", or several values with commas; without a value: one that is not
    # empty, none, 0 or false. A property or class attribute is a setting here, too.
    place: str
    words: str = ""  # for messages; "": the place

    def is_met(self, config: object) -> bool:
        """Return True if the other setting has the value that is needed."""
        place, _, wanted = self.place.partition("=")
        value = value_at(config, place)
        return str(value).lower() in wanted.split(",") if wanted else value not in ABSENT

    def __str__(self) -> str:
        return self.words or self.place


def option(
    default: Any, doc: str, needs: Need | None = None, *, of_some: bool = False, **limits: Any
) -> Any:
    """Declare a dataclass field: its default, its doc, and the fields of its `Limits`.

    needs: another setting, without which this one, or each of a table, has no effect. of_some: True
    for a setting that some kinds of input do not have.
    A number is at least 0 unless `least` or `above` is given. A class as default, or a function
    that returns an object of it, declares a nested table of settings.
    """
    if callable(default):
        stated = {"doc": doc, "limits": Limits(), "needs": needs}
        return field(default_factory=default, metadata=stated)
    is_number = isinstance(default, (int, float)) and not isinstance(default, bool)
    if is_number and "above" not in limits:
        limits = {"least": 0, **limits}
    stated = {"doc": doc, "limits": Limits(**limits), "needs": needs, "of_some": of_some}
    return field(default=default, metadata=stated)


def with_default(config_class: type, name: str, default: Any) -> Any:
    """Declare a field of another class again, with another default."""
    return field(default=default, metadata=fields_of(config_class)[name].metadata)


class Settings:
    """Base of the settings of models: equality, hash and text by all fields.

    A dataclass would write these for each of some fifty classes, in most of the time that a short
    command takes.
    """

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({values})"


def _cached(function: F) -> F:
    """Return a function of a settings class that computes each result once."""
    return typing.cast(F, cache(function))  # mypy takes a dataclass for what has no hash


@_cached
def fields_of(config_class: type) -> Mapping[str, dataclasses.Field[Any]]:
    """Return the fields of a settings class by name; of one with TABLES, those that it names."""
    found = {f.name: f for f in dataclasses.fields(config_class)}
    names = getattr(config_class, "TABLES", "").split() or found
    return MappingProxyType({name: found[name] for name in names})


def limits_of(config_class: type, name: str) -> Limits:
    """Return the limits of one field."""
    return fields_of(config_class)[name].metadata.get("limits", Limits())


def need_of(config: object, place: str) -> Need | None:
    """Return what a setting, or its table, needs for an effect. place: as train.lr."""
    table, _, name = place.rpartition(".")
    owner = type(value_at(config, table) if table else config)
    known = fields_of(owner).get(name) if dataclasses.is_dataclass(owner) else None
    own = known.metadata.get("needs") if known else None
    return own or (need_of(config, table) if table else None)


def check_needs(config: object, usual: object, places: Iterable[str]) -> None:
    """Raise ConfigurationError for a setting without the other one that it needs.

    usual: other settings; one with their value is accepted.
    """
    for place in places:
        need = need_of(config, place)
        if need and value_at(config, place) != value_at(usual, place) and not need.is_met(config):
            raise ConfigurationError(f"{place} has no effect without {need}", *leave_out(place))


def leave_out(place: str) -> tuple[str, str]:
    """Return what is expected in place of a setting without effect, and what to do."""
    return "settings that have one", f"leave out {place}"


def value_at(config: Any, place: str) -> Any:
    """Return the setting of a dotted name, such as train.lr; None if there is no such setting."""
    for name in place.split("."):
        config = getattr(config, name, None)
    return config


@_cached
def types_of(config_class: type) -> dict[str, object]:
    """Return the resolved type of each field."""
    return typing.get_type_hints(config_class)


def to_dict(config: Any) -> dict[str, object]:
    """Return settings as plain dictionaries, for TOML and JSON."""
    found = dataclasses.asdict(config)
    return {name: found[name] for name in fields_of(type(config))}


def from_dict(
    config_class: type[C], values: Mapping[str, object], *, where: str = "", stored: bool = False
) -> C:
    """Build settings from plain dictionaries; absent fields keep their defaults. See `merged`."""
    return merged(config_class(), values, where=where, stored=stored)


def merged(config: C, values: Mapping[str, object], *, where: str = "", stored: bool = False) -> C:
    """Return the settings with some values replaced.

    where: the dotted path of `config`, for messages. stored: True leaves out settings that another
    family or part has, which files of version 2 and lists of all settings contain. Raises
    ConfigurationError for an unknown name, a value of another type, and a value outside the limits
    of its field.

    A class can have `upgraded`, which returns settings of version 2.0 as those of the present one;
    `chosen`, which returns the settings in the class that the values choose; and `elsewhere`, which
    returns why a setting of another class has no effect, and what is expected.
    """
    values = config.upgraded(values) if hasattr(config, "upgraded") else values
    config = config.chosen(values) if hasattr(config, "chosen") else config
    changes, kinds = {}, types_of(type(config))
    for name, value in values.items():
        place = f"{where}.{name}" if where else name
        if name not in fields_of(type(config)):
            if stored and _elsewhere(config, name)[0]:
                continue
            raise unknown_setting(config, name, where, value)
        current = getattr(config, name)
        if value == current and type(value) is type(current):
            continue  # usual: a bundle stores all settings, and few of them differ from the default
        if dataclasses.is_dataclass(current):
            if not isinstance(value, Mapping):
                raise ConfigurationError(
                    f"{place} = {value!r}", f"a table, as in {place}.name=value"
                )
            changes[name] = merged(current, value, where=place, stored=stored)
        else:
            limits = limits_of(type(config), name)
            changes[name] = within(limits, converted(value, kinds[name], place), place)
    return typing.cast(C, dataclasses.replace(typing.cast(Any, config), **changes))


def _elsewhere(config: Any, name: str) -> tuple[str, str]:
    """Return why a setting has no effect, and what is expected; "" twice if no class has it."""
    found: tuple[str, str] = config.elsewhere(name) if hasattr(config, "elsewhere") else ("", "")
    return found


def unknown_setting(
    config: object, name: str, where: str, value: object = None
) -> ConfigurationError:
    """Return the error for an unknown setting; it names the tables that have such a setting."""
    reason, expected = _elsewhere(config, name)
    if reason:
        key = next(iter(value), "") if isinstance(value, Mapping) else ""
        place = ".".join(filter(None, (where, name, key)))
        return ConfigurationError(f"{place} {reason}", expected, f"leave out {place}")
    values = {table: getattr(config, table) for table in fields_of(type(config))}
    tables = [
        table
        for table, value in values.items()
        if dataclasses.is_dataclass(value) and name in fields_of(type(value))
    ]
    if where or not tables:
        kind = f"setting in [{where}]" if where else "setting"
        return unknown_name(kind, name, fields_of(type(config)))
    places = " or ".join(f"{table}.{name}" for table in tables)
    return ConfigurationError(f"setting '{name}' without its table", places)


def overridden(
    config: C,
    assignments: Iterable[str],
    values: Mapping[str, Any] | None = None,
    *,
    stored: bool = False,
) -> C:
    """Return the settings after ``section.key=value`` strings, the form of ``-s``.

    values: tables of a file, which the assignments override. stored: as for `merged`. All values
    are merged at once, because one can choose the part that has another.
    """
    return merged(config, over(values or {}, assigned(assignments)), stored=stored)


def assigned(assignments: Iterable[str]) -> Values:
    """Return the tables of ``section.key=value`` strings."""
    found: Values = {}
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals:
            raise ConfigurationError(f"setting '{assignment}'", "the form section.key=value")
        found = over(found, nested(path.strip(), text))
    return found


def nested(place: str, value: object) -> Values:
    """Return the tables with one setting, of a dotted name."""
    first, *others = place.split(".")
    return {first: nested(".".join(others), value) if others else value}


def over(values: Mapping[str, Any], others: Mapping[str, Any]) -> Values:
    """Return nested tables in which other values, table by table, replace the first ones."""
    found = {**values}
    for name, value in others.items():
        both = [found.get(name), value]
        if all(isinstance(each, Mapping) for each in both):
            value = over(found[name], value)
        elif isinstance(value, Mapping) and name in found:
            value = found[name]  # no table, which is refused where it is read
        found[name] = value
    return found


def check_limits(config: object, *, where: str = "") -> None:
    """Raise ConfigurationError if any value of the settings is outside its limits."""
    for name, known in fields_of(type(config)).items():
        place = f"{where}.{name}" if where else name
        value = getattr(config, name)
        if dataclasses.is_dataclass(value):
            check_limits(value, where=place)
        elif value != known.default:
            within(known.metadata.get("limits", Limits()), value, place)


def within(limits: Limits, value: V, place: str) -> V:
    """Return the value; raise ConfigurationError if it is not allowed."""
    if isinstance(value, tuple):
        for item in value:
            within(limits, item, place)
    elif isinstance(value, str):
        if not limits.allows(value):
            allowed = limits.allowed
            near = difflib.get_close_matches(value, allowed, n=1)
            hint = f"did you mean {near[0]}?" if near else ""
            if limits.registry:
                hint = package_hint(limits.registry, value) or hint
            raise ConfigurationError(
                f"{place} = {value!r}", f"one of {', '.join(filter(None, allowed))}", hint
            )
    elif isinstance(value, (int, float)) and not limits.contains(value):
        raise ConfigurationError(f"{place} = {short(value)}", limits.range)
    return value


def converted(value: Any, kind: Any, place: str) -> Any:
    """Return a value from text, TOML or JSON as the field's type."""
    try:
        if typing.get_origin(kind) is not tuple:
            return _as_scalar(value, kind)
        item = typing.get_args(kind)[0]
        if dataclasses.is_dataclass(item):
            if not isinstance(value, (list, tuple)) or not all(
                isinstance(each, Mapping) for each in value
            ):
                raise ConfigurationError(f"{place} = {short(value)}", f"tables, [[{place}]]")
            build: Any = from_dict
            return tuple(build(item, table, where=place) for table in value)
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)):
            raise TypeError(value)
        return tuple(filter(None, map(str, items)))
    except (KeyError, TypeError, ValueError, OverflowError):
        expected = TYPE_NAMES.get(kind, "texts, separated by commas")
        raise ConfigurationError(f"{place} = {short(value)}", expected) from None


def short(value: object) -> str:
    """Return a value as text for a message, cut after 80 characters."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, deep nesting
        text = f"a {type(value).__name__} that is too long to print"
    return text if len(text) <= 80 else f"{text[:80]}..."


def _as_scalar(value: object, kind: type) -> object:
    if kind is bool:
        if isinstance(value, bool):
            return value
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[
            str(value).strip().lower()
        ]
    if value is None or isinstance(value, (bool, Mapping, list)):
        raise TypeError(value)
    if kind is int and isinstance(value, float) and value != int(value):
        raise ValueError(value)
    if kind is int and isinstance(value, str):
        return int(value.replace("_", ""))
    return kind(value)


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings by their dotted names, as in train.lr."""
    found: dict[str, object] = {}
    for name, value in values.items():
        place = f"{prefix}{name}"
        found.update(flat(value, f"{place}.") if isinstance(value, Mapping) else {place: value})
    return found


try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib  # type: ignore[no-redef]


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; a ValueError if it is damaged or nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_toml(text: str) -> Values:
    """Return the tables of a TOML text; a ValueError if it is damaged or nested too deeply."""
    # a key of 50,000 parts took tomllib minutes
    if any(line.partition("=")[0].count(".") > DEEPEST for line in text.splitlines()):
        raise ValueError("nested too deeply")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
