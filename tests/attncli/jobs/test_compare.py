"""Comparing mechanisms: names, run folders, rows, going on."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from attncli import app
from attncli.jobs import compare
from attncli.jobs.mechanisms import LITERATURE, find, mechanisms
from attncli.scoring.comparison import Row
from attncli.training.config import RunConfig, run_config
from models.alignment import diagonal
from models.errors import ModelError
from tests.attncli.training.small import SMALL, write_texts

BASE = run_config("rnnsearch-nano", assignments=["model.bidirectional=false", "train.steps=7"])
SETTINGS = [word for setting in SMALL for word in ("-s", setting)]


def test_names_of_parts_and_settings_are_one_language() -> None:
    named = find("dot,local_p", BASE)
    assert named == find("window=local_p,score=dot", BASE)
    assert named.name == "dot,local_p" and named.folder == "dot-local_p"
    attention = named.config.model.attention
    assert (attention.score, attention.window) == ("dot", "local_p")
    whole = find("model.encoder_attention=intra,heads=4", BASE)
    assert whole.config.model.encoder_attention == "intra"
    assert whole.name == "heads=4,model.encoder_attention=intra"
    assert len(mechanisms(["dot", "score=dot"], BASE, [])) == 1


def test_none_has_the_same_sizes_and_a_preset_the_same_budget() -> None:
    none = find("none", BASE).config.model
    assert none.family == "seq2seq" and none.hidden == BASE.model.hidden
    preset = find("transformer-nano", BASE, ["train.lr=0.1"]).config
    assert preset.model.family == "transformer" and preset.model.bidirectional
    assert preset.train.steps == 7 and preset.train.lr == 0.1 and preset.train.warmup == 400


@pytest.mark.parametrize("name, said", [("dott", "dot"), ("heds=2", "heads"), ("heads=x", "whole")])
def test_a_wrong_name_is_refused(name: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        find(name, BASE)


def test_captioners_are_not_compared_with_translators() -> None:
    with pytest.raises(ModelError, match="show-attend-tell-soft-nano, which captions images"):
        find("show-attend-tell-soft-nano", BASE)
    with pytest.raises(ModelError, match="captioner-transformer-nano, which captions images"):
        find("none", run_config("captioner-transformer-nano"))


def test_every_mechanism_of_the_default_list_can_be_built() -> None:
    compare.check_all(mechanisms(LITERATURE, BASE, []))


def test_a_comparison_goes_on_and_adds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts, out = write_texts(tmp_path), tmp_path / "out"
    data = ["--train", str(texts.train), "--dev", str(texts.dev), "--test", str(texts.dev)]
    command = ["models", "compare", "none", "dot", "-o", str(out), "-p", "rnnsearch-nano"]
    assert app.run([*command, *data, *SETTINGS]) == 0
    first = capsys.readouterr().out
    assert first == (out / "comparison.txt").read_text("utf-8")
    assert "test BLEU" in first and "AER" not in first and "Noise: " in first
    rows = list(csv.DictReader((out / "comparison.csv").open()))
    assert [(row["mechanism"], row["seed"]) for row in rows] == [
        *(("none", "1"), ("dot", "1"), ("none", "2"), ("dot", "2"))
    ]
    assert len(json.loads((out / "comparison.json").read_text())["mechanisms"]) == 2
    assert (out / "comparison.png").exists()
    before = (out / "dot" / "seed-1" / "measured.json").stat().st_mtime_ns
    assert app.run([*command[:4], "cosine", *command[4:], *data, *SETTINGS, "--seeds", "1"]) == 0
    conversation = capsys.readouterr().err
    assert "3 of 3: cosine, seed 1" in conversation and "dot, seed" not in conversation
    assert (out / "dot" / "seed-1" / "measured.json").stat().st_mtime_ns == before
    assert app.run([*command, *data, *SETTINGS, "-s", "train.steps=9"]) == 1
    assert "holds another run" in capsys.readouterr().err


def test_the_best_by_dev_get_further_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a measure that likes cosine best on dev and least on the test set."""
    texts, out = write_texts(tmp_path), tmp_path / "out"
    worth = {"none": 1.0, "dot": 2.0, "cosine": 3.0}

    def measure(mechanism: str, config: RunConfig, *_: object, **__: object) -> Row:
        dev = worth[mechanism]
        return Row(mechanism, config.train.seed, dev, -dev, 1.0, None, "", 1, 1, 1.0, 1.0)

    monkeypatch.setattr(compare, "measure", measure)
    command = ["models", "compare", *worth, "-o", str(out), "-p", "rnnsearch-nano", "--seeds", "3"]
    data = ["--train", str(texts.train), "--dev", str(texts.dev), "--test", str(texts.dev)]
    assert app.run([*command, *data, *SETTINGS, "-s", "train.steps=1", "--best", "1"]) == 0
    rows = list(csv.DictReader((out / "comparison.csv").open()))
    assert [(row["mechanism"], row["seed"]) for row in rows] == [
        *(("none", "1"), ("dot", "1"), ("cosine", "1"), ("cosine", "2"), ("cosine", "3"))
    ]
    assert "5 of 5: cosine, seed 3" in capsys.readouterr().err
    assert not (out / "dot" / "seed-2").exists()


def test_the_grammars_links_are_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["-s", "data.demo_pairs=60", "-s", "train.steps=2", "-s", "train.evaluate_every=2"]
    command = ["models", "compare", "none", "dot", "--seeds", "1", "-o", str(tmp_path / "out")]
    assert app.run([*command, *SETTINGS, *small]) == 0
    said = capsys.readouterr().out
    assert "AER of none: without attention, this is the AER of the diagonal" in said
    rows = list(csv.DictReader((tmp_path / "out" / "comparison.csv").open()))
    assert [row["aligned_by"] for row in rows] == ["diagonal", "attention"]
    assert all(0 < float(row["aer"]) < 100 for row in rows)


def test_links_of_ones_own_corpus_give_an_error_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The diagonal, which `none` is aligned by, as the gold: of dev, as there is no test set."""
    texts, gold, out = write_texts(tmp_path), tmp_path / "gold.pharaoh", tmp_path / "out"
    pairs = [line.split("\t") for line in texts.dev.read_text("utf-8").splitlines()]
    rows = [diagonal(len(source.split()), len(target.split())) for source, target in pairs]
    lines = [" ".join(f"{i}-{j}" for i, j in sorted(row)) for row in rows]
    gold.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    command = ["models", "compare", "none", "dot", "--seeds", "1", "-o", str(out)]
    command += ["-p", "rnnsearch-nano", *SETTINGS, "-s", "train.steps=2"]
    data = ["--train", str(texts.train), "--dev", str(texts.dev)]
    assert app.run([*command, *data, "--gold", str(gold)]) == 0
    found = {row["mechanism"]: row for row in csv.DictReader((out / "comparison.csv").open())}
    assert float(found["none"]["aer"]) == 0 and 0 < float(found["dot"]["aer"]) < 100
    gold.write_text("".join(f"{line}\n" for line in lines[1:]), "utf-8")
    assert app.run([*command, *data, "--gold", str(gold)]) == 1
    assert "11 sentence pairs" in capsys.readouterr().err
    assert app.run([*command, "--gold", str(gold)]) == 2
    assert "needs --train" in capsys.readouterr().err


def test_a_mechanism_that_makes_no_model_is_refused_before_any_file_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = ["models", "compare", "dot,coverage=true", "-o", str(out)]
    data = ["--train", "no.en", "no.de", "--dev", "no.en", "no.de"]
    assert app.run([*command, *data]) == 1
    said = capsys.readouterr().err
    assert said.startswith("attn: mechanism dot,coverage=true: ") and "additive" in said
    assert said.count("\n") == 1 and not out.exists()


def test_mechanisms_swallowed_by_an_option_are_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["models", "compare", "--train", "a.en", "a.de", "dot", "--dev", "b"]) == 2
    assert "before the options" in capsys.readouterr().err
