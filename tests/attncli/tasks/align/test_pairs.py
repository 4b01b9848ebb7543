"""attn align by its real command line: the pipe contract, settings, views, pictures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

from attncli.data.grammar import Pair
from models.alignment import AlignConfig, align, head_weights
from models.engines.translator import Translator
from tests.attncli.command_line import Attn


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ATTN_MODEL", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def pairs(tiny_pairs: list[Pair]) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in tiny_pairs[:6]]


@pytest.fixture
def texts(tmp_path: Path, pairs: list[tuple[str, str]]) -> list[Path]:
    paths = [tmp_path / "x.en", tmp_path / "x.de"]
    for path, side in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("".join(f"{text}\n" for text in side), "utf-8")
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


def test_other_programs_are_drawn_beside_ours_and_alone(
    attn: Attn, texts: list[Path], tmp_path: Path, tiny_bundle: Path
) -> None:
    view = tmp_path / "fast.links"
    view.write_text("0-0 1-1\n" + "0-0\n" * 5, "utf-8")
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
