"""Training with a lexicon: tables of words, counts, and pairs with candidates."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from attncli.data.embedded import Pair
from attncli.data.tables import read_lexicon_table
from attncli.translate.corpora import CorpusConfig
from attncli.translate.lexicon import (
    DIRECTION,
    RARE,
    marked_pairs,
    packed_entries,
    run_entries,
    stands_in,
    with_marks,
)
from models import load
from models.core.errors import InputError
from models.core.use_config import TokenizerConfig
from models.text.lexicon import CLOSE, MARKS, OPEN, Lexicon, grouped
from models.text.tokenizer import train
from tests.attncli.command_line import Attn, flags
from tests.attncli.files import write
from tests.attncli.training.small import Texts

ENTRIES = {
    (DIRECTION, "dog"): ("Hund",),
    (DIRECTION, "fire alarm"): ("Feuermelder", "Brandmelder"),
    (DIRECTION, "house"): ("Haus",),
}


def test_lines_of_one_word_are_its_candidates(tmp_path: Path) -> None:
    table = write(
        tmp_path / "words.tsv", "fee\tGebühr\n\nfee\tHonorar\nfee.\tGebühr\nstock\tLager\ten-de\n"
    )
    rows = read_lexicon_table(table)
    assert grouped(rows) == {("", "fee"): ("Gebühr", "Honorar"), ("en-de", "stock"): ("Lager",)}


def test_long_forms_are_left_out(tmp_path: Path) -> None:
    rows = read_lexicon_table(write(tmp_path / "words.tsv", "a b c d e f\tx\na b c d e\ty\n"))
    assert [row.form for row in rows] == ["a b c d e"]


@pytest.mark.parametrize(
    "text",
    ["", "\n\n", "fee\n", "\tGebühr\n", "42\tGebühr\n", "a|b\tc\n", "fee\tGebühr\tmoney\n"],
)
def test_other_lines_are_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_lexicon_table(write(tmp_path / "words.tsv", text))


EN_DE = CorpusConfig("en-de", ("a.tsv",))
FR_EN = CorpusConfig("fr-en", ("b.tsv",))
TABLE = "fee\tGebühr\nstock\tLager\ten-de\nLager\tcamp\tde-en\nfrais\tfee\tfr-en\n"


@pytest.mark.parametrize(
    ("corpora", "text", "expected"),
    [
        ([EN_DE], TABLE, "de-en Gebühr=fee, de-en Lager=camp, en-de fee=Gebühr, en-de stock=Lager"),
        ([replace(EN_DE, both=False)], TABLE, "en-de fee=Gebühr, en-de stock=Lager"),
        (
            [replace(EN_DE, languages="de-en")],
            "Lager\tcamp\n",
            "de-en Lager=camp, en-de camp=Lager",
        ),
        ([EN_DE, FR_EN], "frais\tfee\tfr-en\nx\ty\tes-en\n", "fr-en frais=fee"),
        ([EN_DE, FR_EN], TABLE, None),  # an entry without a direction
        ([EN_DE], "x\ty\tes-en\n", None),  # none of the corpora's
        ([], "fee\tGebühr\n", "- fee=Gebühr"),
        ([], TABLE, None),
    ],
)
def test_entries_are_read_in_the_directions_that_they_name(
    corpora: list[CorpusConfig], text: str, expected: str | None, tmp_path: Path
) -> None:
    table = write(tmp_path / "words.tsv", text)
    if expected is None:
        with pytest.raises(InputError):
            run_entries(table, corpora)
        return
    found = run_entries(table, corpora)
    rows = sorted(f"{way} {form}={'|'.join(each)}" for (way, form), each in found.items())
    assert ", ".join(rows) == expected


@pytest.mark.parametrize("count", [0, 1, 3, 4, 100])
def test_forms_that_the_sources_have_often_are_left_to_the_weights(count: int) -> None:
    lexicon = Lexicon(packed_entries(ENTRIES, {DIRECTION: ["The dog and the fire alarm."] * count}))
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
    lexicon = Lexicon(packed_entries(ENTRIES, {DIRECTION: []}))
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


def test_pairs_with_candidates_can_stand_alone_and_be_turned() -> None:
    lexicon = Lexicon(packed_entries({("de-en", "Hund"): ("dog",)}, {"de-en": []}))
    pairs = [("The dog.", "Der Hund."), ("The cat.", "Die Katze."), ("Dogs.", "Hund")] * 20
    way = ("de-en", True)
    whole = [*marked_pairs(pairs, lexicon, {"Dogs."}, 1, *way)]
    alone = [*marked_pairs(pairs, lexicon, {"Dogs."}, 1, *way, alone=True)]
    assert [one for one in whole if OPEN not in one[0]] == [pair[::-1] for pair in pairs]
    assert alone == [one for one in whole if OPEN in one[0]] and alone
    assert {target for _, target in alone} == {"The dog."}


def test_common_words_tell_the_languages_of_a_run() -> None:
    entries = {("de-en", "Hund"): ("dog",), ("fr-en", "chien"): ("dog",)}
    sources = {"de-en": ["der Hund und die Katze"] * 200, "fr-en": ["le chien et le chat"] * 200}
    lexicon = Lexicon(packed_entries(entries, sources))
    assert lexicon.language("und der Esel", "en", ("de", "en", "fr")) == "de"
    assert lexicon.language("et le cochon", "en", ("de", "en", "fr")) == "fr"


def test_a_run_of_both_directions_reads_its_table(texts: Texts, tmp_path: Path, attn: Attn) -> None:
    pairs = tmp_path / "pairs.tsv"
    rows = [f"the {word} runs\tdas {word[::-1]} rennt\n" for word in ("abcd", "efgh", "ijkl")] * 40
    pairs.write_text("".join(rows) + "a zebra\tein Zebra\n", "utf-8")
    table, run = (
        write(tmp_path / "words.tsv", "zebra\tZebra\nabcd\tdcba\nZebra\tstripes\tde-en\n"),
        tmp_path / "run",
    )
    small = ("train.steps=2", "model.embedding=16", "model.hidden=16", "tokenizer.size=330")
    words = ("train", "--corpus", f"en-de={pairs}", "--lexicon", table, "-o", run, "--threads", "1")
    attn(*words, "--dev-corpus", f"en-de={pairs}", "--preset", "transformer-nano", *flags(small))
    model = load(run, "translate")
    ahead, back = model.for_direction("de", "en"), model.for_direction("en", "de")
    assert ahead.read_with_entries("a zebra runs")[1][0].candidates == ("Zebra",)
    assert set(back.read_with_entries("das Zebra")[1][0].candidates) == {"zebra", "stripes"}
    assert not ahead.read_with_entries("the abcd runs")[1]  # 40 pairs have it
    mine = write(
        tmp_path / "words.tsv", "runs\teilt\ten-de\nruns\trast\ten-de\nrennt\tgoes\ten-de\n"
    )
    found = attn(
        "translate", "-m", run, "--to", "de", "--format", "jsonl", "--lexicon", mine, "it runs"
    )
    assert json.loads(found.out)["entries"] == [{"form": "runs", "candidates": ["eilt", "rast"]}]
    other = attn(
        "translate", "-m", run, "--to", "en", "--format", "jsonl", "--lexicon", mine, "es rennt"
    )
    assert "entries" not in json.loads(other.out)


def test_a_run_from_a_model_without_marks_learns_them(
    tiny_bundle: Path, tiny_pairs: list[Pair], tmp_path: Path, attn: Attn
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{one.source}\t{one.target}\n" for one in tiny_pairs[:60]), "utf-8")
    table, run = write(tmp_path / "words.tsv", "zebra\tZebra\n"), tmp_path / "run"
    words = ("train", pairs, "--dev", pairs, "--start-from", tiny_bundle, "-o", run)
    attn(*words, "--lexicon", table, "--threads", "1", "-s", "train.steps=1")
    before, after = load(tiny_bundle, "translate"), load(run, "translate")
    assert after.read_with_entries("a zebra")[1] and not before.read_with_entries("a zebra")[1]
    pieces = [
        after.tokenizer.source.id_to_piece(one) for one in after.read_with_entries("zebra")[0]
    ]
    assert {*MARKS} & {*pieces} == {OPEN, CLOSE}
