"""Entries of a lexicon: searched = aligned = explained, words stay on the axis, ensembles."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from attncli.translate.lexicon import with_marks
from models import load
from models.alignment import align, align_translations
from models.alignment.weights import encode, encoded_translation
from models.core.use_config import AlignConfig, SearchConfig, TokenizerConfig
from models.engines.ctranslate2_translator import CTranslate2Translator
from models.engines.translator import EnsembleTranslator, Translator
from models.networks.bundle import Bundle, build, save, sizes_of
from models.search.steering import Look, Steering
from models.storage.presets import model_config
from models.text.lexicon import CLOSE, MARKS, OPEN, Lexicon, LexiconEntry, pack, with_candidates
from models.text.tokenizer import Tokenizer
from models.text.units import source_text, unit_spans
from tests.attncli.command_line import Attn

ROWS = (
    LexiconEntry("dog", 0, ("Hund", "Rüde")),
    LexiconEntry("old cat", 0, ("Katze",)),
    LexiconEntry("garden", 0, ("Garten", "Park", "Hof")),
    LexiconEntry("house", 8, ("Haus",)),
)
WORDS = ("the", "dog", "old", "cat", "garden", "house,", "gardenhouse", "sees", "a", "Dog.", "42")


def saved(folder: Path, tokenizer: Tokenizer, rows: Any = ROWS, seed: int = 1) -> Path:
    """Write a Transformer with random weights and a lexicon."""
    marked = with_marks(tokenizer)
    torch.manual_seed(seed)
    config = model_config("transformer-nano")
    model = build(config, sizes_of(marked, config.family)).eval()
    packed = pack((("-", row) for row in rows), 3)
    tables = TokenizerConfig(), SearchConfig(beam=2, max_extra=4, max_ratio=0.5)
    save(Bundle(model, marked, *tables, lexicon=packed), folder)
    return folder


@pytest.fixture(scope="module")
def folder(tiny_tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("entries"), tiny_tokenizer)


def drawn(count: int, rng: random.Random) -> list[str]:
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 9))) for _ in range(count)]


def test_spans_of_tokens_are_those_of_the_text_without_entries(folder: Path) -> None:
    model, rng = load(folder, "translate"), random.Random(random.getrandbits(16))
    for text in ["dog", "a dog", "dog dog", "the dog, dog.", *drawn(60, rng)]:
        ids, entries = model.read_with_entries(text)
        found = source_text(model.tokenizer.source, ids, text, entries)
        assert found.text == text and len(found.tokens) == len(ids)
        assert found.forms == [(one.start, one.end) for one in entries]
        pieces = [model.tokenizer.source.id_to_piece(number) for number in ids]
        inside, covered = -1, set[int]()
        for piece, (start, end) in zip(pieces, found.tokens, strict=True):
            inside += piece == OPEN
            covered |= {*range(start, end)}
            if piece in MARKS:
                assert (start, end) == found.forms[inside]
        assert {n for n, letter in enumerate(text) if letter != " "} <= covered
        assert pieces.count(OPEN) == pieces.count(CLOSE) == len(entries)


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_outputs_are_aligned_scored_and_explained_as_they_were_searched(
    engine: str, folder: Path
) -> None:
    torch_model = load(folder, "translate")
    model: Any = torch_model if engine == "torch" else CTranslate2Translator.read(folder)
    texts = drawn(12, random.Random(random.getrandbits(16)))
    found = [one for one in model.translate(texts) if one.text.strip()]
    scored = align_translations(torch_model, found)
    for one, aligned in zip(found, scored, strict=True):
        tokens = len(one.hypotheses[0].ids) + 1
        assert aligned.score * tokens == pytest.approx(one.hypotheses[0].log_prob, abs=1e-3)
        assert aligned.source == tuple(one.source.split())
        assert aligned.weights.sum(1).add(aligned.null).tolist() == pytest.approx(
            [1.0] * len(aligned.target), abs=1e-4
        )
        forms = [(entry.form, entry.candidates) for entry in aligned.entries]
        read = torch_model.read_with_entries(one.source)[1]
        assert forms == [(one.source[a:b], each) for a, b, each, *_ in read]
        for entry in aligned.entries:
            assert entry.form.split()[0] in aligned.source[entry.unit]
        same = encode(torch_model, one.source, one.text)
        if same.target == encoded_translation(torch_model, one).target:
            [given] = align(torch_model, [(one.source, one.text)])
            assert (given.source, given.entries) == (aligned.source, aligned.entries)
            assert torch.allclose(given.weights, aligned.weights, atol=1e-5)


@pytest.mark.parametrize("kind", ["word", "char", "piece"])
def test_a_word_has_the_weight_of_all_tokens_of_its_entry(kind: str, folder: Path) -> None:
    model = load(folder, "translate")
    [found] = align(model, [("the dog sees", "ein Hund")], config=AlignConfig(units=kind))
    if kind == "piece":
        assert {*"<|>"} <= {*found.source} and not {*MARKS} & {*"".join(found.source)}
        return
    spans = unit_spans("the dog sees", kind)
    assert found.source == tuple("the dog sees"[a:b] for a, b in spans)
    assert found.entries[0].unit == (1 if kind == "word" else 3)


def test_a_text_with_a_mark_has_no_entries() -> None:
    lexicon = Lexicon(added=[("-", ROWS[0])])
    assert lexicon.found("a dog", "-") and not lexicon.found(f"a dog {OPEN}", "-")


def test_an_entry_of_the_user_is_read_for_a_common_word() -> None:
    lexicon = Lexicon(pack([("-", ROWS[3])], 3))
    assert not lexicon.found("a house", "-")
    mine = lexicon.with_entries([("", LexiconEntry("house", -1, ("Hütte",)))])
    assert with_candidates("a house", mine.found("a house", "-")) == lexicon.with_entries(
        [("", LexiconEntry("house", -1, ("Hütte",)))]
    ).read("a house", "-")
    assert "Hütte" in mine.read("a house", "-")


def test_a_look_at_a_word_is_one_at_its_entry(folder: Path) -> None:
    model = load(folder, "translate")
    text = "the old cat sees a garden"
    looks = [Look(((4, 11),)), Look(((20, 26),)), Look(((4, 7),))]
    outputs = [
        next(model.stream([text], steering=[Steering("", (look,))])).hypotheses for look in looks
    ]
    assert outputs[0] == outputs[2] != outputs[1]  # a part of a form is all of its entry


def test_each_model_of_an_ensemble_reads_its_own_lexicon(
    folder: Path, tiny_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    one = load(folder, "translate")
    other = load(saved(tmp_path, tiny_tokenizer, ROWS[2:], seed=2), "translate")
    both = EnsembleTranslator([one, other])
    texts = ["a dog sees", "the garden", "the old cat sees a garden"]
    sources = both._encoded([(text, "") for text in texts], [""] * 3, first=1)
    for number, model in enumerate((one, other)):
        ids = [each.members[number].ids for each in sources]
        assert ids == [model.read_with_entries(text)[0] for text in texts]
    assert [len(both.read_with_entries(text)[1]) for text in texts] == [1, 1, 2]
    mine = both.with_lexicon([("", LexiconEntry("sees", -1, ("sieht",)))])
    assert all(member.read_with_entries("sees")[1] for member in mine.members)
    plain = [one.translate([text]) for text in texts]
    twice = EnsembleTranslator([one, one])
    assert [[h.text for h in each.hypotheses] for each in twice.translate(texts)] == [
        [h.text for h in each[0].hypotheses] for each in plain
    ]


def entries_in(record: Any) -> list[tuple[str, list[str]]]:
    return [(one["form"], one["candidates"]) for one in record.get("entries", [])]


def test_doors_name_the_same_entries(folder: Path, attn: Attn) -> None:
    text = "The old cat and the dog."
    expected = [("old cat", ["Katze"]), ("dog", ["Hund", "Rüde"])]
    words = ("translate", "-m", folder, "--format", "jsonl", "--align", text)
    record = json.loads(attn(*words).out)
    aligned = record["hypotheses"][0]["alignment"]
    assert entries_in(record) == entries_in(aligned) == expected
    assert [one["unit"] for one in aligned["entries"]] == [1, 5]
    assert aligned["source"] == text.split()
    output = record["hypotheses"][0]["text"]
    pair = f"{text}\t{output}\n"
    given = json.loads(attn("align", "-m", folder, "--format", "jsonl", given=pair).out)
    explained = json.loads(
        attn("explain", "-m", folder, "--format", "jsonl", "--method", "attention", text).out
    )
    assert entries_in(given) == entries_in(explained) == expected
    assert explained["source"] == given["source"] == text.split()
    for door in (("translate", "-m", folder, "--show", text), ("explain", "-m", folder, text)):
        shown = attn(*door)
        both = shown.out + shown.err
        assert "old cat = Katze" in both and "dog = Hund|Rüde" in both
    assert "entries" not in json.loads(attn(*words[:-1], "A cow.").out)


def test_a_translator_without_a_lexicon_reads_the_text(tiny_translator: Translator) -> None:
    ids, entries = tiny_translator.read_with_entries("the dog")
    assert (ids, entries) == (tiny_translator.encode("the dog"), ())


def test_a_model_is_shown_with_its_lexicon(folder: Path, tmp_path: Path, attn: Attn) -> None:
    shown = attn("models", "show", folder).out
    size = (folder / "lexicon.bin").stat().st_size
    assert f"lexicon: entries 4; {size} bytes; licence: not stated" in shown
    packed = tmp_path / "named"
    about = ("-s", "about.lexicon=CC0 1.0", "-s", "about.licence=MIT")
    attn("models", "pack", folder, packed, *about)
    assert (
        f"lexicon: entries 4; {size} bytes; licence: CC0 1.0" in attn("models", "show", packed).out
    )
