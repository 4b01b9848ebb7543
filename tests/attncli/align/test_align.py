"""attn align and attn evaluate alignments by the real command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

from attncli.data.alignments import PairLinks
from attncli.data.embedded import Pair
from attncli.scoring.sequences import score_alignments
from models.alignment import AlignConfig, align, head_weights
from models.engines.translator import Translator
from tests.attncli.command_line import Attn
from tests.attncli.files import write


@pytest.fixture
def pairs(tiny_pairs: list[Pair]) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in tiny_pairs[:6]]


@pytest.fixture
def texts(tmp_path: Path, pairs: list[tuple[str, str]]) -> list[Path]:
    paths = [tmp_path / "x.en", tmp_path / "x.de"]
    for path, side in zip(paths, zip(*pairs, strict=True), strict=True):
        write(path, side)
    return paths


def in_line(links: frozenset[tuple[int, int]]) -> str:
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def test_files_tables_and_bars_give_the_links_of_the_library(
    attn: Attn, texts: list[Path], tmp_path: Path, tiny_bundle: Path, tiny_translator: Translator,
    pairs: list[tuple[str, str]],
) -> None:  # fmt: skip
    found = align(tiny_translator, pairs)
    wanted = "".join(in_line(one.links) + "\n" for one in found)
    assert attn("align", "-m", tiny_bundle, *texts).out == wanted
    table = "".join(f"{a}\t{b}\n" for a, b in pairs)
    assert attn("align", "-m", tiny_bundle, given=table).out == wanted
    bars = "".join(f"{a} ||| {b}\r\n" for a, b in pairs)
    assert attn("align", "-m", tiny_bundle, given=bars).out == wanted.replace("\n", "\r\n")
    output = tmp_path / "links.txt"
    assert attn("align", "-m", tiny_bundle, "-o", output, *texts).out == ""
    assert output.read_text("utf-8") == wanted


def test_as_many_lines_out_as_pairs_in(attn: Attn, tiny_bundle: Path) -> None:
    given = "The dog sees.\tDer Hund sieht.\n\n ||| \n\t\nno pair\n||| x\n"
    ran = attn("align", "-m", tiny_bundle, given=given, status=1)
    first, *others = ran.out.split("\n")
    assert first and others == [""] * 6
    assert ran.err.count("\n") == 1 and "pair 5 is without a tab" in ran.err
    assert attn("align", "-m", tiny_bundle, given="").out == ""


def test_settings_given_beat_those_of_the_bundle(
    attn: Attn, texts: list[Path], tiny_bundle: Path, tiny_translator: Translator,
    pairs: list[tuple[str, str]],
) -> None:  # fmt: skip
    config = AlignConfig(
        units="char", layer=1, head=2, shift=1, extract="mutual", null_threshold=0.5
    )
    wanted = align(tiny_translator, pairs, config=config)
    given = "units=char layer=1 head=2 shift=1 extract=mutual null_threshold=0.5"
    options = [word for setting in given.split() for word in ("-s", f"align.{setting}")]
    ran = attn("align", "-m", tiny_bundle, *options, "--format", "jsonl", *texts)
    for line, one in zip(ran.out.splitlines(), wanted, strict=True):
        record = json.loads(line)
        assert tuple(record["source"]) == one.source and tuple(record["target"]) == one.target
        assert frozenset(map(tuple, record["links"])) == one.links
        numpy.testing.assert_allclose(record["weights"], one.weights.numpy(), atol=1e-4)
        assert record["score"] == pytest.approx(one.score, abs=1e-5)


def test_both_directions(
    attn: Attn, texts: list[Path], tiny_bundle: Path, tiny_translator: Translator,
    pairs: list[tuple[str, str]],
) -> None:  # fmt: skip
    config = AlignConfig(symmetrise="union")
    wanted = align(tiny_translator, pairs, config=config, reverse=tiny_translator)
    options = ["-m", tiny_bundle, "--reverse-model", tiny_bundle, "-s", "align.symmetrise=union"]
    out = attn("align", *options, *texts).out
    assert out.splitlines() == [in_line(one.links) for one in wanted]


def test_every_head_is_in_the_arrays_and_the_page(
    attn: Attn, texts: list[Path], tmp_path: Path, tiny_bundle: Path, tiny_translator: Translator,
    pairs: list[tuple[str, str]],
) -> None:  # fmt: skip
    output, page = tmp_path / "x.npz", tmp_path / "x.html"
    attn("align", "-m", tiny_bundle, "-o", output, "--picture", page, *texts)
    arrays = numpy.load(output, allow_pickle=False)
    for number, weights in enumerate(head_weights(tiny_translator, pairs), 1):
        assert weights is not None
        numpy.testing.assert_allclose(arrays[f"heads_{number}"], weights.numpy(), atol=1e-5)
    assert '"shape":[1,4]' in page.read_text("utf-8")


def test_heat_maps_and_a_choice_of_pairs(
    attn: Attn, texts: list[Path], tmp_path: Path, tiny_bundle: Path
) -> None:
    ran = attn("align", "-m", tiny_bundle, "--show", "-s", "picture.lines=2,4-5", *texts)
    assert [line for line in ran.out.splitlines() if line.isdigit()] == ["2", "4", "5"]
    links = tmp_path / "links.txt"
    attn("align", "-m", tiny_bundle, "--show", "-o", links, *texts)
    assert len(links.read_text("utf-8").splitlines()) == 6
    none = ["--picture", tmp_path / "x.html", "-s", "picture.lines=99"]
    assert "shows nothing" in attn("align", "-m", tiny_bundle, *none, *texts).err


def test_other_programs_are_drawn_beside_ours_and_alone(
    attn: Attn, texts: list[Path], tmp_path: Path, tiny_bundle: Path
) -> None:
    view = write(tmp_path / "fast.links", "0-0 1-1\n" + "0-0\n" * 5)
    ran = attn("align", "-m", tiny_bundle, "--hypotheses", view, "--format", "jsonl", *texts)
    first = json.loads(ran.out.splitlines()[0])
    assert first["views"] == {"fast.links": {"links": [[0, 0], [1, 1]]}} and "weights" in first
    assert "counts from 0" in ran.err
    assert attn("align", "--hypotheses", view, *texts).out == view.read_text("utf-8")
    page = tmp_path / "page.svg"
    attn("align", "-m", tiny_bundle, "--hypotheses", view, "--picture", page, *texts)
    texts_of_page = page.read_text("utf-8").replace("<", ">").split(">")
    assert "fast.links" in texts_of_page
    assert any(
        text.startswith(f"{tiny_bundle.name}, what the model reads") for text in texts_of_page
    )
    short = tmp_path / "short"
    short.write_text("0-0\n", "utf-8")
    [line] = attn("align", "--hypotheses", short, *texts, status=1).err.splitlines()
    assert "1 sentence pair;" in line


TASK = ("evaluate", "alignments")
TEXTS = "a b c ||| x y\n\nd ||| z\n".replace("\n\n", "\n ||| \n")


def test_a_file_against_gold_that_counts_from_one(tmp_path: Path, attn: Attn) -> None:
    gold = write(tmp_path / "gold", "1-1 3p2\n\n1-1\n")
    found = write(tmp_path / "found", "0-0 1-1\n\n0-0\n")
    texts = write(tmp_path / "texts", TEXTS)
    task = [*TASK, "--gold", gold, "--hypotheses", found, texts]
    record = json.loads(attn(*task, "--json").out)
    [scores] = record["systems"]
    assert record["gold"]["sure"] == 2 and record["gold"]["possible"] == 1
    assert scores["scores"]["AER"]["score"] == pytest.approx(100 * (1 - (2 + 2) / (3 + 2)))
    assert "counts from 1 (line 1 has 3p2, and 3 source words)" in record["gold"]["note"]
    assert "counts from 0 (line 1 has 0-0)" in scores["note"]
    table = attn(*task).out
    assert "20.00" in table and "counts from 1" in table and "counts from 0" in table


def test_what_a_file_counts_from_is_asked_for_where_it_is_not_sure(
    tmp_path: Path, attn: Attn
) -> None:
    gold = write(tmp_path / "gold", "1-1 3p2\n\n1-1\n")
    task = [*TASK, "--gold", gold, "--hypotheses", gold]
    out, err = attn(*task, status=1)
    assert out == "" and "from 0 or from 1" in err and "--gold-index" in err
    out, err = attn(*task, "--gold-index", "1", status=1)
    assert out == "" and "give the texts" in err
    texts = write(tmp_path / "texts", TEXTS)
    assert " 0.00" in attn(*task, "--gold-index", "1", texts).out


def test_a_model_is_scored_by_its_own_links(
    tmp_path: Path,
    attn: Attn,
    tiny_bundle: Path,
    tiny_translator: Translator,
    tiny_pairs: list[Pair],
) -> None:
    pairs = tiny_pairs[:30]
    table = "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs)
    gold = "".join(" ".join(f"{i}-{j}" for i, j in sorted(p.links)) + "\n" for p in pairs)
    texts, links = write(tmp_path / "texts.tsv", table), write(tmp_path / "gold", gold)
    task = [*TASK, "--gold", links, "-m", tiny_bundle]
    [scores] = json.loads(attn(*task, "--json", texts).out)["systems"]
    found = align(tiny_translator, [(pair.source, pair.target) for pair in pairs])
    wanted = [PairLinks(frozenset(pair.links)) for pair in pairs]
    rate = score_alignments([one.links for one in found], wanted).error_rate
    assert (
        scores["scores"]["AER"]["score"] == pytest.approx(100 * rate) and "layer" in scores["note"]
    )
    assert "source and target" in attn(*task, status=2).err
