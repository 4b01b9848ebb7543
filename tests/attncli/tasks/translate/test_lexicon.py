"""Training with a lexicon: tables of words, counts, and pairs with candidates."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from attncli.translate.lexicon import (
    DIRECTION,
    RARE,
    marked_pairs,
    packed_entries,
    read_entries,
    stands_in,
    with_marks,
)
from models.core.errors import InputError
from models.core.use_config import TokenizerConfig
from models.text.lexicon import MARKS, OPEN, Lexicon
from models.text.tokenizer import train

ENTRIES = {"dog": ("Hund",), "fire alarm": ("Feuermelder", "Brandmelder"), "house": ("Haus",)}


def test_lines_of_one_word_are_its_candidates(tmp_path: Path) -> None:
    table = tmp_path / "words.tsv"
    table.write_text("fee\tGebühr\n\nfee\tHonorar\nfee\tGebühr\nstock\tLager\trest\n", "utf-8")
    assert read_entries(table) == {"fee": ("Gebühr", "Honorar"), "stock": ("Lager",)}


@pytest.mark.parametrize("text", ["", "\n\n", "fee\n", "\tGebühr\n", "42\tGebühr\n", "a|b\tc\n"])
def test_other_lines_are_refused(text: str, tmp_path: Path) -> None:
    table = tmp_path / "words.tsv"
    table.write_text(text, "utf-8")
    with pytest.raises(InputError):
        read_entries(table)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 100])
def test_forms_that_the_sources_have_often_are_left_to_the_weights(count: int) -> None:
    lexicon = Lexicon(packed_entries(ENTRIES, ["The dog and the fire alarm."] * count))
    is_read = count.bit_length() < RARE
    assert (OPEN in lexicon.read("A dog.", DIRECTION)) == is_read
    assert (OPEN in lexicon.read("A fire alarm.", DIRECTION)) == is_read
    assert OPEN in lexicon.read("A house.", DIRECTION)


@pytest.mark.parametrize("size", [0, 1, 10, 500])
def test_every_pair_stays_and_marked_ones_keep_their_target(size: int) -> None:
    rng = random.Random(size)
    words = ("the", "dog", "house", "fire", "alarm", "runs")
    pairs = [(" ".join(rng.choices(words, k=5)), "Der Hund, das Haus.") for _ in range(size)]
    held = {source for source, _ in pairs[::3]}
    lexicon = Lexicon(packed_entries(ENTRIES, []))
    found = [*marked_pairs(pairs, lexicon, held, seed=1)]
    assert [pair for pair in found if OPEN not in pair[0]] == pairs
    plain, previous = None, 0
    for source, target in found:
        if OPEN in source:
            previous += 1
            assert plain is not None and target == plain[1] and plain[0] not in held
        else:
            plain = source, target
    assert previous or size < 10
    assert found == [*marked_pairs(pairs, lexicon, held, seed=1)]


@pytest.mark.parametrize(
    ("candidate", "target", "expected"),
    [
        ("Rechnung", "Die Rechnungen fehlen.", True),
        ("Rechnung", "Die Quittung fehlt.", False),
        ("connecting train", "the connecting trains", True),
        ("connecting train", "the connecting flight", False),
        ("", "anything", False),
    ],
)
def test_an_inflected_candidate_stands_in_a_target(
    candidate: str, target: str, expected: bool
) -> None:
    assert stands_in(candidate, " " + " ".join(target.lower().strip(".").split())) is expected


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
@pytest.mark.parametrize("joint", [True, False])
def test_marks_are_tokens_of_their_own(kind: str, joint: bool) -> None:
    lines = ["The old dog sees a small house.", "A man sleeps here."] * 20
    config = TokenizerConfig(kind=kind, joint=joint)
    tokenizer = with_marks(train(lines, lines[::-1], 300, config))
    text = "The" + "".join(MARKS) + " dog"
    pieces = [tokenizer.source.id_to_piece(number) for number in tokenizer.encode(text)]
    assert [piece for piece in pieces if piece in MARKS] == [*MARKS]
    assert with_marks(tokenizer).models == tokenizer.models
