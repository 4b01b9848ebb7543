"""Glossary files."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.classify.table import LabelledText, check_order, read_labelled
from attncli.data import tables
from attncli.data.corpus import read_pairs
from attncli.data.tables import read_glossary, read_labelled
from models.core.errors import InputError, ModelError


@pytest.mark.parametrize("line", ["dog", "dog\t", "\tHund", "dog\tHund\tm"])
def test_a_line_of_a_glossary_is_a_source_term_and_a_target_term(line: str, tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("dog\tHund\n\nred car \t rotes Auto\n", "utf-8")
    assert list(read_glossary(path).terms) == [("dog", "Hund"), ("red car", "rotes Auto")]
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


PAIRS = [("a dog", "ein Hund"), ("a cat", "eine Katze"), ("2", "zwei")]


@pytest.fixture(autouse=True)
def forget() -> None:
    """Let each test say everything again."""
    tables._say.cache_clear()


def table(path: Path, *rows: tuple[str, ...]) -> Path:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.mark.parametrize(
    "header", ["source target", "en de", "sentence_en sentence_de", "SRC TGT", "text1 label"]
)
def test_a_header_is_left_out_and_said_once(
    header: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = header.split()
    path = table(tmp_path / "a.tsv", (first, second), *PAIRS)
    files = [tmp_path / "a.1", tmp_path / "a.2"]
    for file, column in zip(files, zip((first, second), *PAIRS, strict=True), strict=True):
        file.write_text("".join(f"{text}\n" for text in column))
    for given in ([path], [path], files):
        assert [(pair.source, *pair.references) for pair in read_pairs(given)] == PAIRS
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 2 and "line 1" in said[0] and "left out" in said[0]


@pytest.mark.parametrize("first", [("text", "text"), ("a label", "ein Label"), ("no", "nein")])
def test_a_first_pair_of_words_stays(first: tuple[str, str], tmp_path: Path) -> None:
    path = table(tmp_path / "a.tsv", first, *PAIRS)
    assert next(read_pairs([path])).source == first[0]


def test_the_header_of_labels_is_no_class(tmp_path: Path) -> None:
    rows = [("music", "play a song"), ("sport", "win a match")]
    for header in [("label", "text"), ("Category", "Sentence")]:
        assert [*map(tuple, read_labelled(table(tmp_path / "a.tsv", header, *rows)))] == rows


def test_a_column_of_numbers_is_refused_or_reported(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    numbered = table(tmp_path / "a.tsv", *((str(n), *pair) for n, pair in enumerate(PAIRS)))
    with pytest.raises(ModelError, match="column 1 of a.tsv has numbers alone; .*cut"):
        list(read_pairs([numbered]))
    alone = table(tmp_path / "b.tsv", *((f"{n}.5", text) for n, (text, _) in enumerate(PAIRS)))
    assert len(list(read_pairs([alone]))) == 3
    assert "column 1 of b.tsv has numbers alone" in capfd.readouterr().err
    sums = table(tmp_path / "c.tsv", *((f"{n} + 1", str(n + 1)) for n in range(5)))
    assert len(list(read_pairs([sums]))) == 5 and not capfd.readouterr().err
