"""Schemas of published settings: types, ranges and defaults, checked before anything is built.

A schema maps the name of a setting to its rule, or to the schema of a nested table, and may give
the name of the setting in this program. Settings that no schema names are not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin

from models.core.errors import DamagedError, intact
from models.core.files import read_regular
from models.core.settings import (
    MAX_LAYERS,
    MAX_SIZE,
    MAX_SLOTS,
    TYPE_NAMES,
    Values,
    parse_json,
    short,
)
from models.text.vocabulary import MAX_PIECES

MAX_TEXT_BYTES = 1 << 16  # of a setting
NEEDED = "needed"  # default of a setting that every model of the format has
Schema = Mapping[str, Any]  # of Rule, or of Schema for a nested table


class Rule(NamedTuple):
    """Values of a setting: a type, such as list[int], with a range, or a table of known values.

    The table gives the value in this program, if it differs; a tuple has the known values alone.
    """

    kind: Any
    default: Any = NEEDED  # for a setting that is missing or null
    least: float = 0
    most: float = MAX_PIECES
    ours: str = ""  # name of the setting in this program

    def allows(self, value: Any, kind: Any = None) -> bool:
        """Return True if a value from JSON is of the type, in the range, and text in UTF-8."""
        kind = kind or self.kind
        if isinstance(kind, (tuple, dict)):
            return any(value == known and type(value) is type(known) for known in kind)
        origin, inner = get_origin(kind) or kind, get_args(kind)
        if origin in (list, dict):
            parts = value.values() if isinstance(value, dict) else value
            texts = value if origin is dict else ()
            return isinstance(value, origin) and all(
                [all(self.allows(each, inner[-1]) for each in parts), *map(is_text, texts)]
            )
        if origin not in (int, float, bool, str):  # one of two types, or any
            return kind is Any or any(self.allows(value, each) for each in inner)
        if kind is float and type(value) is int:
            return self.least <= value <= self.most
        if type(value) is not kind:
            return False
        return is_text(value) if kind is str else self.least <= value <= self.most

    @property
    def expected(self) -> str:
        """The allowed values in words."""
        if isinstance(self.kind, (tuple, dict)):
            return f"one of {', '.join(map(str, self.kind))}"
        if self.kind in (int, float):
            return f"{TYPE_NAMES[self.kind]} from {self.least:g} to {self.most:g}"
        return TYPE_NAMES.get(self.kind) or f"JSON of the type {self.kind}"


RULES = {
    "size": Rule(int, least=1, most=MAX_SIZE),
    "layers": Rule(int, least=1, most=MAX_LAYERS),
    "slots": Rule(int, least=1, most=MAX_SLOTS),
    "pixels": Rule(int, least=1, most=4096),
    "epsilon": Rule(float, 1e-5, 1e-30, 1),
    "id": Rule(int),
    "id?": Rule(int, None),
    "ids": Rule(list[int], (), -1),
    "true": Rule((True,), True),
    "false": Rule((False,), False),
    "flag": Rule(bool, True),
    "text": Rule(str, ""),
}


def rules(*lines: str, **others: Any) -> Values:
    """Return a schema from lines such as "size: d_model>embedding n_head", and from rules by name.

    embedding is the name of d_model in this program.
    """
    rows = (line.partition(": ") for line in lines)
    pairs = ((kind, name.partition(">")) for kind, _, names in rows for name in names.split())
    return {name: RULES[kind]._replace(ours=ours) for kind, (name, _, ours) in pairs} | others


def renamed(given: Mapping[str, Any], schema: Schema) -> Values:
    """Return validated settings under their names in this program; those that have one."""
    rows = schema.items()
    return {rule.ours: given[name] for name, rule in rows if isinstance(rule, Rule) and rule.ours}


def is_text(value: str) -> bool:
    """Return True for a text of limited length that UTF-8 can encode."""
    try:
        return len(value.encode()) <= MAX_TEXT_BYTES
    except UnicodeEncodeError:  # half a character
        return False


def validated(given: Any, schema: Schema, where: object) -> Values:
    """Return the settings of a schema, missing ones with their defaults.

    where: file and table, for the error. Raises DamagedError for the first that is not allowed.
    """
    if not isinstance(given, dict):
        raise DamagedError(f"{where} is damaged ({short(given)})", "a table of settings")
    found: Values = {}
    for name, rule in schema.items():
        value, place = given.get(name), f"{where}: {name}"
        if not isinstance(rule, Rule):
            found[name] = validated(value, rule, place)
            continue
        value = rule.default if value is None and rule.default is not NEEDED else value
        if value is not rule.default and not rule.allows(value):
            kind = f"{place} = {short(value)}" if name in given else f"{place} is missing"
            raise DamagedError(kind, rule.expected)
        found[name] = rule.kind[value] if isinstance(rule.kind, dict) else value
    return found


def read_json(path: Path, schema: Schema, *, optional: bool = False) -> Values:
    """Return the settings of a schema from a JSON file; the defaults for no file if `optional`.

    Raises DamagedError for a damaged file or value.
    """
    given = {} if optional and not path.exists() else read_value(path)
    return validated(given, schema, path)


def read_value(path: Path) -> Any:
    """Return the content of a JSON file of limited size; raise DamagedError if it is damaged."""
    with intact(path, "a JSON file"):
        return parse_json(read_regular(path))


def read_list(path: Path, rule: Rule) -> Any:
    """Return the content of a JSON file whose whole value has one rule."""
    return validated({"content": read_value(path)}, {"content": rule}, path)["content"]
