"""A first row that names columns is left out; a column of numbers is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.data.text import tables
from attncli.data.text.corpus import read_pairs
from attncli.data.text.tables import read_labelled
from models.base.errors import ModelError

PAIRS = [("a dog", "ein Hund"), ("a cat", "eine Katze"), ("2", "zwei")]


@pytest.fixture(autouse=True)
def forget() -> None:
    """Let each test say everything again."""
    tables._say.cache_clear()
    tables._warn.cache_clear()


def table(path: Path, *rows: tuple[str, ...]) -> Path:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.mark.parametrize(
    "header",
    [
        "source target",
        "en de",
        "English German",
        "sentence_en sentence_de",
        "SRC TGT",
        "text1 label",
    ],
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
