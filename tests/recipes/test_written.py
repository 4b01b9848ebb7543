"""Sentences written for `everyday`, and pairs of software packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "recipes"))

import everyday_data

from models.text.tokenizer import RESERVED


def test_each_written_sentence_has_four_languages() -> None:
    tables = [everyday_data.written(code) for code in everyday_data.CODES]
    assert len(tables[0]) > 7000
    for table in tables:
        assert [english for english, _ in table] == [english for english, _ in tables[0]]
        assert all(english and other for english, other in table)
    assert len({english for english, _ in tables[0]}) == len(tables[0])


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("Open %s now.", "%s jetzt öffnen.", ("Open {0} now.", "{0} jetzt öffnen.")),
        ("{a} of {b}", "{b}: {a}", ("{0} of {1}", "{1}: {0}")),
        ("No parts.", "Keine Teile.", ("No parts.", "Keine Teile.")),
        ("Open %s now.", "Jetzt öffnen.", ("", "")),
        ("%s %s", "%s %s", ("", "")),  # without words
    ],
)
def test_placeholders_are_reserved_tokens_or_the_pair_is_left_out(
    source: str, target: str, expected: tuple[str, str]
) -> None:
    tokens = [chr(RESERVED), chr(RESERVED + 1)]
    first, second = (text.format(*tokens) for text in expected)
    assert everyday_data.with_reserved_parts(source, target) == (first, second)


@pytest.mark.parametrize("size", [0, 1, 10, 300])
def test_pairs_of_packages_are_read_once(size: int, tmp_path: Path) -> None:
    rows = [f"Save the file {'ab' * (n + 1)}\tSpeichere {'ab' * (n + 1)}\n" for n in range(size)]
    for name in ("mail", "shop", "dictionary"):
        (tmp_path / f"{name}.en-de.tsv").write_text("".join(rows), "utf-8")
    found = everyday_data.packages(tmp_path, "deu")
    assert len(found) == len({*found}) and len(found) <= size
    assert bool(found) == bool(size)
