"""JSON lines, Parquet and batches of tables get the results as a further field or column."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy
import pytest

from attncli.bulk.pipelines import BatchMapper, frame_mapper
from attncli.shell import app
from models.base.errors import ModelError
from models.inference.translator import Translator

TEXTS = ["The dog sees a house.", "", "The old cat sleeps.", "A girl reads."]


def bulk(*words: object) -> int:
    return app.run(["bulk", *map(str, words), "--shard", "2", "--processes", "1", "-q"])


@pytest.fixture
def expected(tiny_translator: Translator) -> list[str]:
    return [found.text for found in tiny_translator.translate(TEXTS)]


def test_json_lines_keep_their_fields_and_get_the_result(
    tiny_bundle: Path, tmp_path: Path, expected: list[str]
) -> None:
    rows = [json.dumps({"id": n, "meta": {"text": text}}) for n, text in enumerate(TEXTS)]
    lines = [*rows[:2], "", "[1]", '{"meta": 7}', *rows[2:]]
    source, out = tmp_path / "in.jsonl.gz", tmp_path / "out.jsonl"
    source.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    words = ("translate", "-m", tiny_bundle, source, out, "--field", "meta.text")
    assert bulk(*words) == 1
    found = out.read_text().split("\n")
    assert found[2:5] == ["", "[1]", '{"meta": 7}'] and found[-1] == ""
    objects = [json.loads(row) for row in found[:2] + found[5:-1]]
    assert [one["translation"] for one in objects] == expected
    assert [one["meta"]["text"] for one in objects] == TEXTS
    errors = (tmp_path / "out.jsonl.bulk" / "errors.jsonl").read_text().splitlines()
    assert [json.loads(row)["record"] for row in errors] == [4, 5]


def test_pairs_of_two_fields_are_aligned(tiny_bundle: Path, tmp_path: Path) -> None:
    pair = {"en": "The dog sees\ta house.", "de": "Der Hund sieht ein Haus."}
    (tmp_path / "in").write_text(json.dumps(pair) + "\n")
    fields = ("--field", "en", "--field", "de")
    assert bulk("align", "-m", tiny_bundle, tmp_path / "in", tmp_path / "out", *fields) == 0
    assert "-" in json.loads((tmp_path / "out").read_text())["links"]
    assert bulk("align", "-m", tiny_bundle, tmp_path / "in", tmp_path / "out", *fields[:2]) == 2


def test_parquet_keeps_its_columns_and_gets_the_results(
    tiny_bundle: Path, tmp_path: Path, expected: list[str]
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    table = pyarrow.table({"id": [3, 1, 4, 1], "text": [TEXTS[0], None, *TEXTS[2:]]})
    parquet.write_table(table, source)
    assert bulk("translate", "-m", tiny_bundle, source, out, "--column", "text") == 0
    found = parquet.read_table(out)
    assert found.column_names == ["id", "text", "translation", "translation_error"]
    assert found["translation"].to_pylist() == expected
    assert found.select(["id", "text"]).equals(table)


def test_a_batch_gets_a_column_of_results(
    toy_classifier: Path, tiny_bundle: Path, expected: list[str]
) -> None:
    mapper = BatchMapper("translate", tiny_bundle)
    found = mapper({"text": numpy.array(TEXTS), "id": numpy.arange(4)})
    assert list(found["translation"]) == expected and list(found["id"]) == [0, 1, 2, 3]
    assert isinstance(found["translation"], numpy.ndarray)
    [labels] = frame_mapper("classify", toy_classifier, into="kind")([{"text": list(TEXTS)}])
    assert len(labels["kind"]) == 4 and labels["kind_error"] == [""] * 4


def test_a_batch_of_images_and_one_of_pairs(
    soft_captioner: Path, tiny_bundle: Path, photos: Path
) -> None:
    content = (photos / "a.png").read_bytes()
    found = BatchMapper("caption", soft_captioner, column="image")({"image": [content, b"none"]})
    assert found["caption"][0] and "not a readable image" in found["caption_error"][1]
    aligner = BatchMapper("align", tiny_bundle, column="en", target="de")
    assert aligner({"en": ["The dog."], "de": ["Der Hund."]})["links"]
    with pytest.raises(ModelError, match="unknown task"):
        BatchMapper("transalte", tiny_bundle)
