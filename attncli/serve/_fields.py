"""The fields of each endpoint, as openapi.json describes them. Misspelt ones are refused."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from attncli.serve._requests import invalid

PAGE = files("attncli.serve").joinpath("page")
ALIKE = 0.8  # from which a name is that of a field, misspelt: clients also send fields of their own
EVERYWHERE = ("api_key", "apiKey")  # the latter of older clients


@cache
def known_fields(path: str) -> Collection[str]:
    """Return the names of the fields of an endpoint: of its body and its query."""
    api = json.loads(PAGE.joinpath("openapi.json").read_text("utf-8"))
    about: dict[str, Any] = api["paths"].get(path, {}).get("post", {})
    names = [*EVERYWHERE, *(one["name"] for one in about.get("parameters", ()))]
    for content in about.get("requestBody", {}).get("content", {}).values():
        schema = content["schema"]
        reference = schema.get("$ref", "").rpartition("/")[2]
        names += api["components"]["schemas"][reference]["properties"] if reference else ()
        names += schema.get("properties", ())
    return dict.fromkeys(names)


def check_fields(path: str, given: Iterable[str]) -> None:
    """Raise RequestError for an unknown field whose name is almost that of a field."""
    known = known_fields(path)
    for name in given:
        if name not in known and len(name) < 100:
            near = difflib.get_close_matches(name, known, n=1, cutoff=ALIKE)
            if near:
                raise invalid(f"no field {name}; did you mean {near[0]}?")
