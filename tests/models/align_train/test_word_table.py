"""The lexicon of `attn align train`: words on which both directions agree, and its readers."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from attncli.align_train._run import (
    AlignerRun,
    lexicon_lines,
    write_lexicon,
    write_statistical,
    written_forms,
)
from attncli.data.tables import read_lexicon_table
from models.align_train.hmm import trained, translations
from models.text.lexicon import CANDIDATES
from tests.attncli.command_line import Attn
from tests.attncli.files import write

NUMBERS = (0, 1, 2, 1000)


def corpus(count: int) -> list[tuple[str, str]]:
    """Return sentences whose word n is translated by word -n of the other side."""
    rng = random.Random(count)
    rows = (rng.sample(range(40), rng.randint(2, 7)) for _ in range(count))
    return [(" ".join(map(word, row)), " ".join(map(other, row[::-1]))) for row in rows]


def word(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:02d}") + "x"


def other(number: int) -> str:
    return word(number).replace("x", "y").upper()


def table_of(pairs: list[tuple[str, str]]) -> list[str]:
    sides = [written_forms(side) for side in zip(*pairs, strict=True)] or [{}, {}]
    return list(lexicon_lines(translations(trained(pairs).tables()), *sides))


@pytest.mark.parametrize("count", NUMBERS)
def test_words_have_their_translations(count: int) -> None:
    lines = [line.rstrip("\n").split("\t") for line in table_of(corpus(count))]
    assert len({form for form, _ in lines}) * CANDIDATES >= len(lines)
    known = {word(n): other(n) for n in range(40)}
    if count == max(NUMBERS):
        firsts = dict(reversed(lines))
        assert firsts == known


def test_the_table_of_a_small_corpus() -> None:
    pairs = [
        *[("The fee is due.", "Die Gebühr ist fällig."), ("The fee!", "Die Gebühr!")] * 3,
        *[("The house is old.", "Das Haus ist alt."), ("a house", "ein Haus")] * 3,
        *[("The dog is old.", "Der Hund ist alt."), ("a dog", "ein Hund"), ("42", "42")] * 3,
    ]
    found = dict(reversed([line.rstrip("\n").split("\t") for line in table_of(pairs)]))
    expected = {"fee": "Gebühr", "house": "Haus", "dog": "Hund", "old": "alt", "a": "ein"}
    assert {form: found.get(form) for form in expected} == expected
    assert "42" not in found


def test_the_spelling_is_the_one_inside_a_sentence() -> None:
    texts = ["Die Gebühr", "da die Gebühr, GEBÜHR", "Die da", "(Haus)", "Ja", "İ i"]
    forms = written_forms(texts)
    assert [forms[one] for one in ("die", "gebühr", "haus", "ja")] == [
        "die",
        "Gebühr",
        "Haus",
        "Ja",
    ]


@pytest.mark.parametrize("count", NUMBERS[1:])
def test_the_file_is_read_as_a_table_of_entries(count: int, tmp_path: Path) -> None:
    pairs, path = corpus(count), tmp_path / "words.tsv"
    run = AlignerRun((), "a-b", (), tmp_path / "run")
    run.links.parent.mkdir(parents=True)
    write(run.pairs, pairs)
    write_statistical(run, run.links.parent, lambda *progress: None)
    write_lexicon(run, path)
    assert path.read_text("utf-8") == "".join(table_of(pairs))
    if path.stat().st_size:
        rows = ["\t".join(row[:2]) + "\n" for row in read_lexicon_table(path)]
        assert "".join(rows) == path.read_text("utf-8")


def test_the_command_writes_it_before_the_translator(tmp_path: Path, attn: Attn) -> None:
    path = write(tmp_path / "pairs.tsv", corpus(300))
    table = tmp_path / "words.tsv"
    words = ("align", "train", path, "-o", tmp_path / "run", "-s", f"align.lexicon={table}")
    attn(*words, "-s", "train.steps=1", "-s", "model.embedding=x", status=1)
    assert len(read_lexicon_table(table)) >= 30
    attn(*words, "-s", "align.lexicn=x", status=1)
