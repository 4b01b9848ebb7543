"""attn align tune: what is kept is what the table says is best, and every command finds it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from attncli.embedded.grammar import Pair
from attncli.shell import app
from models import load_translator
from models.alignment import align, error_rate


@pytest.fixture
def model(tmp_path: Path, tiny_bundle: Path) -> Path:
    return Path(shutil.copytree(tiny_bundle, tmp_path / "model"))


@pytest.fixture
def gold(tmp_path: Path, tiny_pairs: list[Pair]) -> list[str]:
    texts, links = tmp_path / "texts.tsv", tmp_path / "gold.talp"
    pairs = tiny_pairs[:40]
    texts.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), "utf-8")
    rows = (" ".join(f"{i + 1}-{j + 1}" for i, j in pair.links) for pair in pairs)
    links.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    return ["--gold", str(links), str(texts)]


def test_the_best_is_kept_and_used(
    model: Path, gold: list[str], tiny_pairs: list[Pair], capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["align", "tune", "-m", str(model), *gold]) == 0
    out, err = capsys.readouterr()
    assert "counts from 1" in err and "stored in" in err
    before, best = (float(line.split()[1]) for line in out.splitlines()[1:3])
    assert best < before and "layer" in out
    assert f"lowest alignment error rate, {best:.2f} %" in err and f"before: {before:.2f} %" in err
    pairs = [(pair.source, pair.target) for pair in tiny_pairs[:40]]
    found = align(load_translator(model), pairs)
    rate = error_rate([one.links for one in found], [set(pair.links) for pair in tiny_pairs[:40]])
    assert 100 * rate == pytest.approx(best, abs=0.006)
    assert (
        app.run(["evaluate", "alignments", "--gold", gold[1], "-m", str(model), "--json", gold[2]])
        == 0
    )
    [scores] = json.loads(capsys.readouterr().out)["alignments"]
    assert scores["error_rate"] == pytest.approx(rate)


def test_a_dry_run_keeps_nothing(
    model: Path, gold: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = (model / "config.json").read_bytes()
    assert app.run(["align", "tune", "--dry-run", "-m", str(model), *gold]) == 0
    assert (model / "config.json").read_bytes() == before
    assert "best" in capsys.readouterr().out


def test_a_source_named_tune_is_a_file(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tune").write_text("The dog sees.\tDer Hund sieht.\n", "utf-8")
    assert app.run(["align", "-m", str(model), "tune"]) == 0
    assert "0-0" in capsys.readouterr().out


def test_without_gold_two_directions_choose_what_they_agree_on(
    model: Path, gold: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, texts = Path(shutil.copytree(model, tmp_path / "other")), gold[2]
    tune = ["align", "tune", "-m", str(model), "--reverse-model", str(other), texts]
    assert app.run([*tune, "--dry-run"]) == 0
    assert "alignment" not in json.loads((model / "config.json").read_text("utf-8"))
    assert app.run(tune) == 0
    out, err = capsys.readouterr()
    assert out.count("disagree") == 4 and err.count("stored in") == 2
    for folder in (model, other):
        assert "alignment" in json.loads((folder / "config.json").read_text("utf-8"))


def test_without_anything_the_head_is_taken_whose_weights_are_mutual(
    model: Path, gold: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["align", "tune", "-m", str(model), gold[2]]) == 0
    before, best = (float(r.split()[1]) for r in capsys.readouterr().out.splitlines()[1:3])
    assert best <= before
    kept = json.loads((model / "config.json").read_text("utf-8"))["alignment"]
    assert kept["layer"] == 1 and kept["extract"] == "transport"


def test_one_model_is_tuned_at_a_time_and_one_is_needed(
    model: Path, gold: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["align", "tune", "-m", str(model), "-m", str(model), *gold]) == 2
    assert "one model" in capsys.readouterr().err
    assert app.run(["align", "tune", *gold]) == 1
    assert "everyday" in capsys.readouterr().err, "the models on disk are listed"


def test_gold_and_a_reverse_model_are_not_both_meant(
    model: Path, gold: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    more = [*gold[:2], "--reverse-model", str(model)]
    assert app.run(["align", "tune", "-m", str(model), *more, gold[2]]) != 0
    assert "one of the two" in capsys.readouterr().err
