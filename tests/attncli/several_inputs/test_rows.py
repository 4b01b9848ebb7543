"""Rows of several inputs: from a table with named columns to a model and its outputs."""

from __future__ import annotations

import itertools
import json
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import models
from attncli import load
from attncli.several_inputs.data import row_images
from attncli.several_inputs.source import RowTraining
from attncli.train.command_line import settings
from attncli.training.config import RunConfig
from models import load_ensemble
from models.core.errors import ModelError
from models.networks.image_encoder import SmallCnn
from models.several_inputs.translator import RowTranslator
from tests.attncli.command_line import Attn, flags
from tests.attncli.training.kinds import of_rows, write_rows
from tests.attncli.training.small import assert_stops_change_nothing, run
from tests.attncli.training.small_captions import COLOURS, PLACES, fill, image

SMALL = (
    *("model.embedding=16", "model.hidden=16", "train.batch_tokens=200", "train.warmup=4"),
    *("train.log_every=1", "train.steps=9", "train.evaluate_every=4", "tokenizer.size=320"),
    *("search.method=greedy", "train.bleu_tokenizer=char"),
    *("train.samples=0", "train.metric=loss"),
)
PIXELS = ("model.image.encoder=small-cnn", "model.image.weights=none", "model.image.size=32")
FEATURES = ("model.image.encoder=patches", "model.image.size=32")


def write_images(folder: Path) -> tuple[Path, Path]:
    """Write images of squares, and rows that ask for the colour or the place."""
    images = folder / "images"
    images.mkdir()
    lines = []
    for colour, place, shift in itertools.product(COLOURS, PLACES, (0, 2, 4)):
        name = f"{colour}-{place}-{shift}.png"
        (images / name).write_bytes(image(colour, place, shift))
        lines += [f"{name}\tcolour\tit is {colour}\n", f"{name}\tplace\tit is {place}\n"]
    paths = (folder / "train.tsv", folder / "dev.tsv")
    for path, part in zip(paths, (lines[8:], lines[:8]), strict=True):
        path.write_text("picture\tsource\ttarget\n" + "".join(part))
    return paths


def image_config(folder: Path, *changes: str, preset: str = "multi-source-nano") -> RunConfig:
    train, dev = write_images(folder)
    more = ("model.inputs=source,picture:image", f"data.features={folder / 'features'}")
    images = {"images": folder / "images"}
    return settings([train], [dev], preset, [*SMALL, *more, *changes], inputs=images)


@pytest.fixture(scope="module")
def of_texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a model of two texts a little."""
    folder = tmp_path_factory.mktemp("texts")
    more = ("train.steps=60", "train.evaluate_every=60", "train.lr=0.01", "model.dropout=0")
    run(of_rows(folder, *more), folder / "run")
    return folder


@pytest.fixture(scope="module")
def of_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a model of a text and an image a little."""
    folder = tmp_path_factory.mktemp("images")
    more = ("train.steps=20", "train.evaluate_every=20", "train.lr=0.01", "model.dropout=0")
    coverage = "train.attention.coverage=see"  # of tokens and cells
    run(image_config(folder, *more, coverage, *PIXELS), folder / "run")
    return folder


def test_a_run_on_images_stopped_anywhere_ends_as_an_unbroken_one(tmp_path: Path) -> None:
    config = image_config(tmp_path, *FEATURES, preset="multi-source-transformer-nano")
    assert_stops_change_nothing(config, tmp_path)


WORDS = ("red", "old", "big", "dog", "cat", "tree")


def write_texts(folder: Path) -> tuple[Path, Path]:
    """Write rows whose draft lacks a word that only the source has."""
    rng, paths = random.Random(1), (folder / "train.tsv", folder / "dev.tsv")
    for path, count in zip(paths, (60, 12), strict=True):
        lines = ["number\tsource\tdraft\ttarget\n"]
        for number in range(count):
            words = [f"{rng.choice('abc')}", *rng.sample(WORDS, 2)]
            draft = [*words[:2], "x"]
            texts = (" ".join(words[1:]), " ".join(draft), " ".join(words))
            lines.append("\t".join((str(number), *texts)) + "\n")
        path.write_text("".join(lines))
    return paths


def test_a_dev_set_is_held_out_as_a_table_of_rows(tmp_path: Path) -> None:
    train, _ = write_texts(tmp_path)
    config = settings([train], [], "multi-source-nano", [*SMALL, "data.dev_share=0.3"])
    run(config, tmp_path / "run")
    header, *rows = (tmp_path / "run" / "dev.tsv").read_text().splitlines()
    assert header == "source\tdraft\ttarget" and len(rows) > 9
    assert all(len(row.split("\t")) == 3 for row in rows)


def test_tables_objects_and_the_library_give_the_same_outputs(
    of_texts: Path, tmp_path: Path, attn: Attn
) -> None:
    rows = [line.split("\t") for line in (of_texts / "dev.tsv").read_text().splitlines()[1:5]]
    table, objects = tmp_path / "rows.tsv", tmp_path / "rows.jsonl"
    lines = ["\t".join((draft, "7", source)) for source, draft, _ in rows]
    table.write_text("\n".join(["draft\tnumber\tsource", *lines, ""]))
    records = [{"draft": draft, "source": source} for source, draft, _ in rows]
    objects.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    found = [
        attn("translate", "-m", of_texts / "run", "-i", path).out.splitlines()
        for path in (table, objects)
    ]
    translator = models.load(of_texts / "run", "translate")
    expected = [translator.translate([f"{source}\t{draft}"])[0].text for source, draft, _ in rows]
    assert found == [["", *expected], expected]
    shown: Any = load(of_texts / "run")
    texts = [f"{source}\t{draft}" for source, draft, _ in rows]
    assert [one.text for one in shown.translate(texts)] == expected
    assert len({*expected}) > 1


@pytest.mark.usefixtures("no_workers")
def test_a_bulk_job_reads_the_header_of_each_table_in_every_shard(
    of_texts: Path, tmp_path: Path, attn: Attn
) -> None:
    rows = [line.split("\t") for line in (of_texts / "dev.tsv").read_text().splitlines()[1:5]]
    tables, out = tmp_path / "tables", tmp_path / "out"
    tables.mkdir()
    names = ("target", "source", "draft")
    for path, order in ((tables / "a.tsv", (2, 0, 1)), (tables / "b.tsv", (1, 2))):
        lines = [[names[place] for place in order]] + [
            [(target, source, draft)[place] for place in order] for source, draft, target in rows
        ]
        path.write_text("".join("\t".join(line) + "\r\n" for line in lines))
    records = [{"draft": draft, "source": source} for source, draft, _ in rows]
    (tables / "c.txt").write_text("".join(f"\n{json.dumps(record)}" for record in records) + "\n")
    task = ["translate", "-m", str(of_texts / "run")]
    sizes = ["--shard", "2"]
    attn("bulk", tables, out, *sizes, "--", *task)
    found = []
    for path in sorted(tables.iterdir()):
        found.append(attn(*task, "-i", path).out)
        assert (out / path.name).read_bytes().decode() == found[-1]
    assert found[0].split() == found[1].split() == found[2].split()
    assert found[0] == found[1] and len({*found[0].split()}) > 1


def test_a_line_that_is_no_row_is_left_empty_and_reported(
    of_texts: Path, tmp_path: Path, attn: Attn
) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text('dog\ta dog x\nonly one\n{"source": "dog"}\n{"source"\n\ncat\ta cat x\n')
    result = attn("translate", "-m", of_texts / "run", "-i", path, status=1)
    lines = result.out.split("\n")
    assert lines[0] and lines[1:5] == [""] * 4 and lines[5]
    assert "line 2 is a row of 1 columns in place of 2 (source, draft)" in result.err
    assert "line 3 is a JSON object without 'draft'" in result.err
    assert "line 4 is not valid JSON" in result.err
    with pytest.raises(ModelError, match=r"row 2 has 1 columns; expected 2.*source, draft"):
        models.load(of_texts / "run", "translate").translate(["a\tb", "a"])


def test_an_alignment_names_the_input_of_each_word(of_texts: Path, attn: Attn) -> None:
    options = ["-m", of_texts / "run", "--align", "--format", "jsonl", "red dog\ta red x"]
    found = json.loads(attn("translate", *options).out)["hypotheses"][0]["alignment"]
    assert found["source"] == ["red", "dog", "a", "red", "x"]
    assert found["inputs"] == ["source", "source", "draft", "draft", "draft"]
    assert all(0.3 < sum(weights) <= 1.001 for weights in found["weights"])


def test_an_image_changes_outputs_and_has_weights(
    of_images: Path, monkeypatch: pytest.MonkeyPatch, attn: Attn
) -> None:
    monkeypatch.chdir(of_images / "images")
    rows = ["colour\tred-left-0.png", "place\tred-left-0.png", "place\tblue-right-2.png"]
    translator = models.load(of_images / "run", "translate")
    assert isinstance(translator, RowTranslator)
    together = translator.translate(rows)
    for row, found in zip(rows, together, strict=True):
        [alone] = translator.translate([row])
        assert alone.text == found.text
        assert alone.hypotheses[0].log_prob == pytest.approx(found.hypotheses[0].log_prob, abs=1e-4)
    assert together[1].hypotheses[0].log_prob != together[2].hypotheses[0].log_prob
    options = ["-m", of_images / "run", "--align", "--format", "jsonl", rows[0]]
    found = json.loads(attn("translate", *options).out)["hypotheses"][0]["alignment"]
    assert found["inputs"] == ["source"] and len(found["cells"][0]) == 16
    for words, cells in zip(found["weights"], found["cells"], strict=True):
        assert 0 < sum(cells) < 1 and sum(words) + sum(cells) <= 1.001


def test_a_row_whose_image_cannot_be_read_fails_alone(
    of_images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attn: Attn
) -> None:
    monkeypatch.chdir(of_images / "images")
    cut = tmp_path / "cut.png"
    cut.write_bytes(Path("red-left-0.png").read_bytes()[:60])
    names = ["red-left-0.png", "missing.png", str(cut), "blue-right-2.png"]
    path = tmp_path / "rows.tsv"
    path.write_text("".join(f"colour\t{name}\n" for name in names))
    task = ["translate", "-m", of_images / "run", "-i", path]
    result = attn(*task, status=1)
    first, *empty, last, end = result.out.split("\n")
    translator = models.load(of_images / "run", "translate")
    for name, found in ((names[0], first), (names[3], last)):
        assert found == translator.translate([f"colour\t{name}"])[0].text
    assert empty == ["", ""] and not end
    messages = result.err.splitlines()
    assert "line 2 is a row without its image (no file missing.png; expected" in messages[0]
    assert f"line 3 is a row without its image ({cut} cannot be read" in messages[1]
    assert len(messages) == 2
    rows = attn(*task, "--format", "jsonl", "--align", status=1).out.splitlines()
    records = [json.loads(row) for row in rows]
    assert "missing.png" in records[1]["error"]
    assert [len(record["hypotheses"]) for record in records] == [1, 0, 0, 1]


def test_scores_of_a_table_are_those_of_its_translations(
    of_texts: Path, tmp_path: Path, attn: Attn
) -> None:
    model, table, saved = of_texts / "run", of_texts / "dev.tsv", tmp_path / "outputs"
    header, *rows = table.read_text().splitlines()
    renamed = tmp_path / "test.tsv"
    renamed.write_text("\n".join([header.replace("target", "wanted"), *rows, ""]))
    options = ["-s", "data.target=wanted", "--save", saved, "--json"]
    found = json.loads(attn("evaluate", "-m", model, *options, renamed).out)["systems"]
    _, *outputs = attn("translate", "-m", model, "-i", table).out.splitlines()
    assert saved.read_text().splitlines() == outputs
    references = tmp_path / "references"
    references.write_text("".join(row.split("\t")[-1] + "\n" for row in rows))
    expected = json.loads(attn("evaluate", "--hypotheses", saved, "--json", references).out)
    assert found[0]["scores"] == expected["systems"][0]["scores"]


def test_tables_and_models_that_do_not_fit_are_refused(
    of_texts: Path, tmp_path: Path, attn: Attn
) -> None:
    task, table = ["evaluate", "-m", of_texts / "run"], of_texts / "dev.tsv"
    wanted = ["-s", "data.target=wanted", table]
    assert "no column 'wanted' in its first line" in attn(*task, *wanted, status=1).err
    none = tmp_path / "none"
    assert f"no model at {none}" in attn(*task, "-m", none, table, status=1).err
    other = shutil.copytree(of_texts / "run", tmp_path / "other")
    for path in other.rglob("config.json"):
        path.write_text(path.read_text().replace('"draft"', '"outline"'))
    refused = attn(*task, "-m", other, table, status=1).err
    assert "models of different inputs (source, draft and source, outline)" in refused


def test_combinations_are_compared(tmp_path: Path, attn: Attn) -> None:
    """The dev set, named as test set too, has the BLEU that training measured."""
    train, dev = write_rows(tmp_path), write_rows(tmp_path, 12, "dev.tsv")
    given = [*SMALL, "train.steps=30", "train.lr=0.01", "model.dropout=0", "train.metric=bleu"]
    options = ["--preset", "multi-source-nano", "--seeds", "1", "-o", tmp_path / "out"]
    words = ["--train", train, "--dev", dev, "--test", dev, *options]
    words += flags(given)
    assert "dev BLEU" in attn("models", "compare", *words).out
    runs = json.loads((tmp_path / "out" / "comparison.json").read_text())["runs"]
    assert [run["variant"] for run in runs] == ["flat", "hierarchical"]
    assert all(run["dev_bleu"] == run["test_bleu"] > 0 for run in runs)


def test_a_frozen_network_of_a_first_model_makes_the_features(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the network of new weights that a run without a first model has."""
    monkeypatch.setattr(SmallCnn, "load", fill)
    network = (*PIXELS[::2], "model.image.weights=DEFAULT")
    first = image_config(tmp_path, *network, "train.seed=5")
    run(first, tmp_path / "first")
    monkeypatch.undo()
    second = replace(first, start_from=str(tmp_path / "first"))
    images = row_images(RowTraining(second))
    assert images is not None
    rows = ["a\tred-left-0.png"]
    images.add({images.key("red-left-0.png"): "red-left-0.png"}, lambda *_: None)
    path = f"a\t{tmp_path / 'images' / 'red-left-0.png'}"
    expected = models.load(tmp_path / "first", "translate").images([path])
    assert expected is not None
    torch.testing.assert_close(images.of_rows(rows).float(), expected, atol=1e-3, rtol=1e-3)


def test_an_ensemble_reads_rows(of_texts: Path, of_images: Path, attn: Attn) -> None:
    first, table = str(of_texts / "run"), of_texts / "dev.tsv"
    alone, twice = (
        attn("translate", *models, "-i", table, "--scores").out
        for models in (("-m", first), ("-m", first, "-m", first))
    )
    assert alone == twice and alone
    with pytest.raises(ModelError, match="have different inputs"):
        load_ensemble([first, of_images / "run"])


@pytest.mark.parametrize("command", ["align", "explain"])
def test_a_command_of_one_text_refuses_a_model_of_several(
    command: str, of_texts: Path, tmp_path: Path, attn: Attn
) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("dog\ta dog\n")
    given = path if command == "align" else "dog\ta x"
    refused = attn(command, "-m", of_texts / "run", given, status=1).err
    assert "model of several inputs (source, draft); expected a model of one" in refused
