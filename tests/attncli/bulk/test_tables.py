"""JSON lines and batches of tables get the results as a further field or column."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy
import pytest

from attncli.interface.bulk import BatchMapper
from attncli.shell import app
from attncli.translate.runner import TranslateRunner
from models.engines.translator import Translator

TEXTS = ["The dog sees a house.", "", "The old cat sleeps.", "A girl reads."]


def bulk(given: Path, out: Path, fields: list[str], *task: object) -> int:
    words = [word for field in fields for word in ("--field", field)]
    words += ["--shard", "2", "-q", str(given), str(out)]
    return app.run(["bulk", *words, "--", *map(str, task)])


@pytest.fixture
def expected(tiny_translator: Translator) -> list[str]:
    return [found.text for found in TranslateRunner(tiny_translator).results(TEXTS)]


@pytest.mark.usefixtures("no_workers")
def test_json_lines_keep_their_fields_and_get_the_result(
    tiny_bundle: Path, tmp_path: Path, expected: list[str]
) -> None:
    rows = [json.dumps({"id": n, "meta": {"text": text}}) for n, text in enumerate(TEXTS)]
    lines = [*rows[:2], "", "[1]", '{"meta": 7}', *rows[2:]]
    source, out = tmp_path / "in.jsonl.gz", tmp_path / "out.jsonl"
    source.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    assert bulk(source, out, ["meta.text"], "translate", "-m", tiny_bundle) == 1
    found = out.read_text().split("\n")
    assert found[2:5] == ["", "[1]", '{"meta": 7}'] and found[-1] == ""
    objects = [json.loads(row) for row in found[:2] + found[5:-1]]
    assert [one["translation"] for one in objects] == expected
    assert [one["meta"]["text"] for one in objects] == TEXTS
    errors = (tmp_path / "out.jsonl.bulk" / "errors.jsonl").read_text().splitlines()
    assert [json.loads(row)["record"] for row in errors] == [4, 5]


@pytest.mark.usefixtures("no_workers")
def test_pairs_of_two_fields_are_aligned(tiny_bundle: Path, tmp_path: Path) -> None:
    pair = {"en": "The dog sees\ta house.", "de": "Der Hund sieht ein Haus."}
    (tmp_path / "in").write_text(json.dumps(pair) + "\n")
    words = ("align", "-m", tiny_bundle, "--reverse-model", tiny_bundle)
    assert bulk(tmp_path / "in", tmp_path / "out", ["en", "de"], *words) == 0
    assert "-" in json.loads((tmp_path / "out").read_text())["links"]
    assert bulk(tmp_path / "in", tmp_path / "out", ["en"], *words) == 2


def test_a_batch_gets_a_column_of_results(
    tiny_bundle: Path, soft_captioner: Path, photos: Path, expected: list[str]
) -> None:
    mapper = BatchMapper(["translate", "-m", str(tiny_bundle)])
    found = mapper({"text": numpy.array(TEXTS), "id": numpy.arange(4)})
    assert list(found["translation"]) == expected and list(found["id"]) == [0, 1, 2, 3]
    assert isinstance(found["translation"], numpy.ndarray)
    content = (photos / "a.png").read_bytes()
    captions = BatchMapper(["caption", "-m", str(soft_captioner)], column="image", into="said")
    found = captions({"image": [content, b"none"]})
    assert found["said"][0] and "not a readable image" in found["said_error"][1]
