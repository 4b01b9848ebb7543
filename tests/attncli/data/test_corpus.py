"""Parallel text, tables and links: what is read, from which files, and what is refused."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import random
import sys
import tracemalloc
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import zstandard

from attncli.classify._table import LabelledText, check_order, read_labelled
from attncli.data import lines as data_lines
from attncli.data import tables
from attncli.data.alignments import (
    PairLinks,
    cell_links,
    read_external_alignments,
    read_links,
    token_links,
)
from attncli.data.corpus import (
    MAX_DEV_SOURCES,
    MIN_DEV_SOURCES,
    CorpusPair,
    fingerprint,
    held_out,
    read_pairs,
)
from attncli.data.lines import open_text
from attncli.data.streams import BLOCK, check_files, check_inputs
from attncli.data.tables import read_glossary
from attncli.train.command_line import settings
from attncli.training.examples import target_weights
from attncli.translate.corpora import CorpusConfig
from attncli.translate.data import split_dev
from attncli.translate.source import TextTraining
from models.core.errors import InputError, ModelError
from models.text.tokenizer import Tokenizer
from models.text.units import units
from tests.attncli.files import write

SKIPPED = b"\x50\x2a\x4d\x18\x04\x00\x00\x00pzst"  # a zstd frame that holds no content
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def lines(path: Path) -> list[str]:
    with open_text(path) as texts:
        return list(texts)


def refusal(paths: Sequence[Path | str]) -> str:
    with pytest.raises(ModelError) as refused:
        list(read_pairs(paths))
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("compress", COMPRESSIONS.values(), ids=COMPRESSIONS)
def test_a_file_is_read_by_its_content_whatever_its_name(
    compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    texts = ["x" * (BLOCK + 1), *(f"line {n} ä\u2028b\x0cc\x85d\re\0" for n in range(30_000))]
    path = write(tmp_path / "text", compress("\n".join(texts).encode()))
    assert lines(path) == texts
    path.write_bytes(compress(b"a\nb") + compress(b"c\nd\n"))  # two files, end to end
    assert lines(path) == ["a", "bc", "d"]
    if compress is COMPRESSIONS["zstd"]:
        assert lines(write(path, SKIPPED + compress(b"a\nb\n"))) == ["a", "b"]
    for cut in (-1, 12) if compress is not bytes else ():
        path.write_bytes(compress(b"a line of text\n" * 1000)[:cut])
        with pytest.raises(ModelError, match="damaged or incomplete"):
            lines(path)


def test_decomposed_accents_are_composed_unless_names_of_files_are_read(tmp_path: Path) -> None:
    composed = "M\u00e4dchen\t\u00e9"
    decomposed = unicodedata.normalize("NFD", composed)
    path = write(tmp_path / "nfd", f"{decomposed}\r\n\u0301x\t")
    assert lines(path) == [composed, "\u0301x\t"]
    with open_text(path, as_written=True) as texts:
        assert list(texts) == [decomposed, "\u0301x\t"]


@pytest.mark.parametrize("bad, fault", [(b"\xff", "not valid UTF-8"), (b"x" * 300, "longer than")])
def test_a_fault_is_told_with_its_line_after_those_before_it(
    bad: bytes, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_lines, "LINE_BYTES", 200)
    before = [b"line"] * (BLOCK // 4)  # more than one block
    path = write(tmp_path / "many", b"\n".join([*before, bad, b"last"]))
    with (
        open_text(path) as texts,
        pytest.raises(ModelError, match=f"line {len(before) + 1} is {fault}"),
    ):
        for text in texts:
            assert text == "line"


def test_a_pattern_names_the_files_that_match_it_in_order(tmp_path: Path) -> None:
    parts = {"part-2.tsv.gz": gzip.compress(b"c\tC\n"), "part-1.tsv": b"a\tA\nb\tB"}
    for name, content in parts.items():
        (tmp_path / name).write_bytes(content)
    pattern = str(tmp_path / "part-*")
    check_inputs([pattern])
    assert [pair.source for pair in read_pairs([pattern])] == ["a", "b", "c"]
    before = fingerprint([pattern])
    (tmp_path / "part-3.tsv").write_text("d\tD\n")
    assert fingerprint([pattern]) != before
    assert fingerprint([str(tmp_path / "part-1*")]) == fingerprint([tmp_path / "part-1.tsv"])
    (tmp_path / "part-[1].tsv").write_text("e\tE\n")  # the name of a file comes first
    assert [pair.source for pair in read_pairs([tmp_path / "part-[1].tsv"])] == ["e"]
    with pytest.raises(ModelError, match="no file matches .*none-"):
        check_inputs([str(tmp_path / "none-*")])


def test_a_pipe_is_refused_where_files_are_read_more_than_once(tmp_path: Path) -> None:
    check_files([write(tmp_path / "file", b"a\tb\n"), "-"])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelError, match="pipe is a pipe; expected a file"):
        check_files([tmp_path / "file", tmp_path / "pipe"])


def test_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stream = io.TextIOWrapper(io.BytesIO(gzip.compress(b"a\nb\n")))
    monkeypatch.setattr(sys, "stdin", stream)
    other = write(tmp_path / "x", "A\nB\n")
    assert list(read_pairs(["-", other])) == [CorpusPair("a", ("A",)), CorpusPair("b", ("B",))]
    assert refusal(["-", "-"]).startswith("standard input is given twice")


def test_aligned_files_and_a_table_are_the_same_corpus(tmp_path: Path) -> None:
    source = write(tmp_path / "en", "a\nb\n")
    first, second = write(tmp_path / "de", "A\r\nB\r\n"), write(tmp_path / "fr", "AA\nBB")
    table = write(tmp_path / "tsv", "a\tA\tAA\nb\tB\tBB\n")
    pairs = [CorpusPair("a", ("A", "AA")), CorpusPair("b", ("B", "BB"))]
    assert list(read_pairs([source, first, second])) == pairs
    assert list(read_pairs([table])) == pairs
    assert list(read_pairs([source, first])) == [CorpusPair("a", ("A",)), CorpusPair("b", ("B",))]
    columns = write(source, "\na\n\nb\n\n"), write(first, "\nA\n\nB\n\n")
    for separator in ("\t", " ||| "):
        write(table, f"\na{separator}A\n\nb{separator}B\n\n")
        assert list(read_pairs([table])) == list(read_pairs(columns))


def test_a_licence_of_tatoeba_is_no_reference(tmp_path: Path) -> None:
    licence = "CC-BY 2.0 (France) Attribution: tatoeba.org #2877272 (CM) & #8597805 (Roujin)"
    table = write(tmp_path / "deu.txt", f"Go.\tGeh.\t{licence}\n{licence}\t{licence}\n")
    assert list(read_pairs([table])) == [
        CorpusPair("Go.", ("Geh.",)),
        CorpusPair(licence, (licence,)),
    ]


def test_files_that_are_missing_or_of_other_lengths_are_refused(tmp_path: Path) -> None:
    good, long = write(tmp_path / "good", "a\nb\n"), write(tmp_path / "long", "a\nb\nc\n")
    assert refusal([good, tmp_path / "none"]).endswith("none: No such file or directory")
    assert "Is a directory; `attn bulk FOLDER" in refusal([tmp_path])
    for paths in ([good, long], [long, good]):
        found = f"{good} has 2 lines, {long} more; expected as many lines in each file"
        assert found in refusal(paths)


def test_a_fingerprint_is_of_content_and_columns(tmp_path: Path) -> None:
    source, target = write(tmp_path / "en", "a\nb\n"), write(tmp_path / "de", "A\nB\n")
    packed = write(tmp_path / "packed", gzip.compress(b"a\nb\n"))
    mine = fingerprint([source, target])
    assert mine == fingerprint([packed, target])
    assert mine != fingerprint([target, source])
    assert mine != fingerprint([source, target, target])
    assert mine != fingerprint([source, write(tmp_path / "other", "A\nb\n")])


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        text = "".join(f"line {hash((number,))}\tZeile {number}\n" for number in range(count))
        path = write(tmp_path / "table", gzip.compress(text.encode()))
        tracemalloc.start()
        assert sum(1 for _ in read_pairs([path])) == count
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(1_000)
    assert peak(16_000) < 2 * peak(4_000)


def test_bars_stand_between_columns_where_there_is_no_tab(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs", "a b ||| c\n|||\nx ||| y\n")
    assert [*read_pairs([path])] == [("a b", ("c",)), ("", ("",)), ("x", ("y",))]
    [pair] = read_pairs([write(path, "a ||| b\tc\n")])
    assert pair.source == "a ||| b"
    assert "line 2 has no |||" in refusal([write(path, "a ||| b\nc\n")])


def test_a_share_of_the_distinct_sources_is_held_out() -> None:
    sources = [(f"source {number % 300}", f"{number}") for number in range(900)]
    held = held_out(sources, 0.1, seed=1)
    assert len(held) == 30 and held.items() < set(sources)
    assert all(source == f"source {target}" for source, target in held.items())  # the first
    shuffled = random.Random(0).sample(sources, len(sources))
    assert held_out(shuffled, 0.1, seed=1).keys() == held.keys()
    assert held_out(sources, 0.1, seed=2).keys() != held.keys()
    assert held_out([("", "a"), *sources, ("  ", "b")], 0.1, seed=1) == held
    without = [(source, " ") for source, _ in sources[:300]]
    assert held_out([*without, *sources], 0.1, seed=1) == held
    assert not held_out([*without, *sources[:50]], 0.1, seed=1)  # 50 with a target: too few


def test_the_number_is_bounded() -> None:
    many = [(f"source {number}", "target") for number in range(30 * MAX_DEV_SOURCES)]
    held = held_out(many, 0.1, seed=1)
    assert len(held) == MAX_DEV_SOURCES
    assert held_out(many[::-1], 0.1, seed=1).keys() == held.keys()
    assert not held_out(many[: 10 * MIN_DEV_SOURCES - 1], 0.1, seed=1)
    assert not held_out(many, 0, seed=1)


def test_no_source_is_on_both_sides(tmp_path: Path) -> None:
    rows = [f"a {number % 150} b\tc {number}\n" for number in range(400)]
    table = write(tmp_path / "train.tsv", "".join(rows))
    source = TextTraining(settings([table], [], "transformer-nano"))
    own = [CorpusConfig(files=(str(table),), both=False)]
    [named], [held] = split_dev(source, own, tmp_path)
    dev = list(read_pairs(named.files))
    assert {pair.source for pair in dev} == {*held} and len(dev) == len(held) == 15
    (tmp_path / "data").mkdir()
    assert split_dev(source, own, tmp_path) == ([named], [{}])  # a run that continues
    (tmp_path / "dev.tsv").unlink()
    assert split_dev(source, own, tmp_path) == ([], [{}])  # it was prepared without a dev set


def test_a_line_of_a_glossary_is_a_source_term_and_a_target_term(tmp_path: Path) -> None:
    path = write(tmp_path / "terms.tsv", "dog\tHund\n\nred car \t rotes Auto\nDog\tHund\n")
    assert list(read_glossary(path).terms)[:2] == [("dog", "Hund"), ("red car", "rotes Auto")]
    assert read_glossary(path).targets("a dog") == ["Hund"]


PAIRS = [("a dog", "ein Hund"), ("a cat", "eine Katze"), ("2", "zwei")]


@pytest.fixture(autouse=True)
def forget() -> None:
    """Let each test say everything again."""
    tables._say.cache_clear()


@pytest.mark.parametrize(
    "header", ["source target", "en de", "sentence_en sentence_de", "SRC TGT", "text1 label"]
)
def test_a_header_is_left_out_and_said_once(
    header: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = header.split()
    path = write(tmp_path / "a.tsv", [(first, second), *PAIRS])
    files = [tmp_path / "a.1", tmp_path / "a.2"]
    for file, column in zip(files, zip((first, second), *PAIRS, strict=True), strict=True):
        write(file, column)
    for given in ([path], [path], files):
        assert [(pair.source, *pair.references) for pair in read_pairs(given)] == PAIRS
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 2 and "line 1" in said[0] and "left out" in said[0]


@pytest.mark.parametrize("first", [("text", "text"), ("a label", "ein Label"), ("no", "nein")])
def test_a_first_pair_of_words_stays(first: tuple[str, str], tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", [first, *PAIRS])
    assert next(read_pairs([path])).source == first[0]


def test_the_header_of_labels_is_no_class(tmp_path: Path) -> None:
    rows = [("music", "play a song"), ("sport", "win a match")]
    for header in [("label", "text"), ("Category", "Sentence")]:
        assert [*map(tuple, read_labelled(write(tmp_path / "a.tsv", [header, *rows])))] == rows


def test_a_column_of_numbers_is_refused_or_reported(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    numbered = write(tmp_path / "a.tsv", ((str(n), *pair) for n, pair in enumerate(PAIRS)))
    with pytest.raises(ModelError, match="column 1 of a.tsv has numbers alone; .*cut"):
        list(read_pairs([numbered]))
    alone = write(tmp_path / "b.tsv", ((f"{n}.5", text) for n, (text, _) in enumerate(PAIRS)))
    assert len(list(read_pairs([alone]))) == 3
    assert "column 1 of b.tsv has numbers alone" in capfd.readouterr().err
    sums = write(tmp_path / "c.tsv", ((f"{n} + 1", str(n + 1)) for n in range(5)))
    assert len(list(read_pairs([sums]))) == 5 and not capfd.readouterr().err


def test_many_labels_of_few_texts_are_exchanged_columns_only_if_they_are_longer() -> None:
    """The next item of a sequence is a label, and there are as many as items."""
    items = [LabelledText(f"item{n}", f"item{n % 9}") for n in range(90)]
    check_order(items, "x.tsv")
    with pytest.raises(InputError, match="exchange the columns"):
        check_order([row._replace(label=f"the {row.label}") for row in items], "x.tsv")


def test_pharaoh_with_possible_links_and_probabilities(tmp_path: Path) -> None:
    found = read_links(write(tmp_path / "links", "0-0 1p2 2?1\n\n0-1:0.25 1-0:1e-3\n"))
    assert found.rows[0].sure == {(0, 0)} and found.rows[0].possible == {(0, 0), (1, 2), (2, 1)}
    assert found.rows[1] == PairLinks(frozenset())
    assert found.rows[2].sure == {(0, 1), (1, 0)}
    assert found.note == "counts from 0 (line 1 has 0-0)"


def test_naacl_counts_from_one_and_may_leave_pairs_out(tmp_path: Path) -> None:
    path = write(tmp_path / "links", "0001 1 1\n0001 2 3 P\n\n3 1 2 S 0.5\n")
    found = read_links(path)
    assert found.note.startswith("counts from 1") and [len(row.possible) for row in found.rows] == [
        2,
        0,
        1,
    ]
    assert found.rows[0].sure == {(0, 0)} and found.rows[0].possible == {(0, 0), (1, 2)}
    assert found.rows[2].sure == {(0, 1)}
    assert len(read_links(path, [(2, 3), (1, 1), (2, 2), (1, 1)]).rows) == 4
    with pytest.raises(ModelError, match="3 sentence pairs.*expected 2"):
        read_links(path, [(2, 3), (1, 1)])


def test_the_same_links_counted_from_either_are_the_same(tmp_path: Path) -> None:
    lengths = [(2, 3)]
    from_one = read_links(write(tmp_path / "links", "1-1 2p3\n"), lengths)
    from_zero = read_links(write(tmp_path / "links", "0-0 1p2\n"), lengths)
    assert from_one.rows == from_zero.rows
    assert from_zero.note.startswith("counts from 0")
    assert from_one.note == "counts from 1 (line 1 has 2p3, and 2 source words)"


LENGTHS = [(2, 2), (1, 2)]


def test_marian_hard_and_soft_the_end_marks_left_out(tmp_path: Path) -> None:
    hard, _ = read_external_alignments(
        write(tmp_path / "view", "x y ||| 0-0 1-1\nz w ||| 0-1\n"), LENGTHS
    )
    assert [panel.links for panel in hard] == [{(0, 0), (1, 1)}, {(0, 1)}]
    text = "x y ||| 0.1,0.9,0 0.8,0.1,0.1 0,0,1\nz w ||| 0.7,0.3 0.6,0.4\n"
    soft, _ = read_external_alignments(write(tmp_path / "view", text), LENGTHS)
    weights = [panel.weights.tolist() for panel in soft if panel.weights is not None]
    assert weights == [[[0.1, 0.9], [0.8, 0.1]], [[0.7], [0.6]]]
    assert soft[0].links == {(1, 0), (0, 1)}


def test_linked_words_link_all_their_tokens_but_no_marks(tiny_tokenizer: Tokenizer) -> None:
    source = tiny_tokenizer.encode("The dog sees.")
    target = tiny_tokenizer.encode_target("Der Hund sieht.")
    links = token_links(((1, 1), (2, 2)), source, target, tiny_tokenizer)
    shares = [
        units(processor, ids, marks=False).shares
        for processor, ids in ((tiny_tokenizer.source, source), (tiny_tokenizer.target, target))
    ]
    left, right = ((side[:, [1, 2]] > 0).float() for side in shares)  # no column of a full stop
    assert sorted(links.tolist()) == (left @ right.T).nonzero().tolist()
    stop = tiny_tokenizer.pieces(target).index(".")
    assert stop not in links[:, 1]


def test_linked_tokens_share_a_row() -> None:
    links = [np.array([[0, 1], [2, 1], [2, 0]]), np.zeros((0, 2), np.int64)]
    table = target_weights(links, (3, 3))
    assert table[0].tolist() == [[0, 0, 1], [0.5, 0, 0.5], [0, 0, 0]]
    assert not table[1].any()


def test_a_cell_is_linked_to_all_tokens_of_its_word(tiny_tokenizer: Tokenizer) -> None:
    target = tiny_tokenizer.encode_target("Der Hund sieht.")
    shares = units(tiny_tokenizer.target, target, marks=False).shares
    links = cell_links(((5, 1), (7, 1)), 9, target, tiny_tokenizer)
    tokens = [token for token in range(len(target)) if shares[token, 1]]
    assert links.tolist() == [[cell, token] for cell in (5, 7) for token in tokens]
    with pytest.raises(ModelError, match="link 9-0 of a pair with 9 source and 3 target units"):
        cell_links(((9, 0),), 9, target, tiny_tokenizer)
