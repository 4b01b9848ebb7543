"""Every field of every route with a value that it cannot have: refused in one line, never a bug."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from attncli.serve._fields import PAGE

httpx = pytest.importorskip("httpx")

JSON, FORM = "application/json", "multipart/form-data"
API = json.loads(PAGE.joinpath("openapi.json").read_text("utf-8"))
WRONG: tuple[Any, ...] = ("rude", "-1", "\x00", -1, 10**30, ["a", 1], {"a": 1})
GOOD = {"q": "Hi", "translation": "Hallo", "source": "en", "target": "de"}


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return API["components"]["schemas"][name] if name else schema


def routes() -> Iterator[tuple[str, bool, str]]:
    """Yield each route with each of its fields, and whether it takes JSON."""
    for path, methods in API["paths"].items():
        if post := methods.get("post"):
            content = post["requestBody"]["content"]
            is_json = JSON in content
            fields = resolved(content[JSON if is_json else FORM]["schema"])["properties"]
            query = [one["name"] for one in post.get("parameters", ())]
            for name in [*fields, *query]:
                yield path, is_json, name


@pytest.fixture
def files(photos: Path, wav: bytes) -> Mapping[str, tuple[str, bytes]]:
    return {
        "/translate_file": ("a.md", b"Hi"),
        "/caption": ("a.png", (photos / "a.png").read_bytes()),
        "/transcribe": ("a.wav", wav),
        "/v1/audio/transcriptions": ("a.wav", wav),
    }


@pytest.mark.parametrize("path, is_json, name", list(routes()))
def test_a_bad_value_is_no_internal_error(
    url: str, files: Mapping[str, tuple[str, bytes]], path: str, is_json: bool, name: str
) -> None:
    for value in WRONG:
        given = GOOD | {name: value}
        if is_json:
            answer = httpx.post(url + path, json=given, timeout=60)
        elif isinstance(value, str):
            file = {"file": files[path]}
            answer = httpx.post(url + path, data=given, files=file, timeout=60)
        else:
            continue
        assert answer.status_code in (200, 400, 404, 501), (value, answer.text)
        if answer.status_code != 200:
            error = answer.json()["error"]
            told = error["message"] if path.startswith("/v1/") else error
            assert told and "\n" not in told, value


@pytest.mark.parametrize("path", ["/translate", "/alternatives", "/translate_file"])
def test_a_form_of_address_that_there_is_not_is_named(url: str, path: str) -> None:
    given = {"q": "Hi", "source": "en", "target": "de", "address": "rude"}
    answer = httpx.post(url + path, data=given, files={"file": ("a.md", b"Hi")}, timeout=60)
    expected = "Invalid request: address must be formal or informal"
    assert (answer.status_code, answer.json()) == (400, {"error": expected})


def test_a_misspelt_field_is_refused_and_one_of_another_program_is_not(url: str) -> None:
    given = {"q": "Hi", "source": "en", "target": "de"}
    for wrong, meant in (("addres", "address"), ("glosary", "glossary"), ("note", "notes")):
        answer = httpx.post(f"{url}/translate", json=given | {wrong: "x"}, timeout=60)
        expected = f"Invalid request: no field {wrong}; did you mean {meant}?"
        assert (answer.status_code, answer.json()) == (400, {"error": expected})
    others = {"apiKey": "x", "secret": "y", "_": "1", "user": "z", "lang": "en"}
    assert httpx.post(f"{url}/translate", json=given | others, timeout=60).status_code == 200
