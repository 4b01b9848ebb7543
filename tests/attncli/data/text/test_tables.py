"""Glossary files."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.data.text.tables import read_glossary
from models.base.errors import InputError


def test_a_line_is_a_source_term_and_a_target_term(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("dog\tHund\n\nred car \t rotes Auto\n", "utf-8")
    assert list(read_glossary(path).terms) == [("dog", "Hund"), ("red car", "rotes Auto")]


@pytest.mark.parametrize("line", ["dog", "dog\t", "\tHund", "dog\tHund\tm"])
def test_another_line_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(f"a\tb\n{line}\n", "utf-8")
    with pytest.raises(InputError, match="line 2 is not an entry of a glossary"):
        read_glossary(path)


def test_a_term_has_one_translation(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("dog\tHund\nDog\tHund\n", "utf-8")
    assert read_glossary(path).targets("a dog") == ["Hund"]
    path.write_text("dog\tHund\nDog\tKöter\n", "utf-8")
    with pytest.raises(InputError, match="line 2 has another translation of 'Dog'"):
        read_glossary(path)
