"""Several -m: an ensemble in translate, caption and classify, heat maps side by side in align."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attncli.shell import app
from models import load_ensemble
from models.bundle import build, read, save, sizes_of
from models.config.tables import SearchConfig
from models.inference.ensemble.translator import EnsembleTranslator
from models.text.labels import LabelTokenizer

TEXT = "The old dog sees a small house."
LABELLED = ("play some jazz", "book a table for two")
PAIR = f"{TEXT}\tDer alte Hund sieht ein kleines Haus.\n"


@pytest.fixture
def other_bundle(tiny_bundle: Path, tmp_path: Path) -> Path:
    """Return a model of another family with the vocabulary of the tiny one."""
    bundle = read(tiny_bundle)
    folder = tmp_path / "other"
    folder.mkdir()
    config = replace(bundle.model.config, family="rnnsearch", hidden=16, readout=16)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = build(config, sizes_of(bundle.tokenizer, config.family))
    save(bundle._replace(model=model, search=SearchConfig(beam=1)), folder)
    return folder


def attn(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> str:
    assert app.run([str(a) for a in arguments]) == status
    captured = capsys.readouterr()
    return captured.err if status else captured.out


def test_the_same_model_twice_changes_nothing(
    tiny_bundle: Path, toy_classifier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    translate = ("translate", "-s", "compute.backend=torch", "--nbest", 3, TEXT)
    classify = ("classify", "--nbest", 2, *LABELLED)
    for given, model in ((translate, tiny_bundle), (classify, toy_classifier)):
        one, as_json = ("-m", model), ("--format", "jsonl")
        assert attn(capsys, *given, *as_json, *one, *one) == attn(capsys, *given, *as_json, *one)


def test_a_glossary_forces_its_terms_in_an_ensemble(
    tiny_bundle: Path,
    other_bundle: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("dog\tHund\nhouse\tHaus\n")
    given = ("translate", "--nbest", 2, "--glossary", terms, TEXT)
    one, other = ("-m", tiny_bundle), ("-m", other_bundle)
    outputs = attn(capsys, *given, *one, *other).splitlines()
    assert len(outputs) == 2
    assert all("Hund" in output and "Haus" in output for output in outputs)
    assert "Hund" not in attn(capsys, "translate", *one, *other, TEXT)
    assert attn(capsys, *given, *one, *one) == attn(capsys, *given, *one)


def test_translate_averages_models_of_other_families(
    tiny_bundle: Path,
    other_bundle: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ensemble = load_ensemble([tiny_bundle, other_bundle])
    assert isinstance(ensemble, EnsembleTranslator)
    expected = ensemble.translate([TEXT])[0].hypotheses[0]
    both = ("-m", tiny_bundle, "-m", other_bundle)
    out = attn(capsys, "translate", *both, "--scores", TEXT)
    assert out == f"{expected.score:.4f}\t{expected.text}\n"
    monkeypatch.setenv("ATTN_MODEL", f"{tiny_bundle}:{other_bundle}")
    assert attn(capsys, "translate", "--scores", TEXT) == out


def test_an_aligned_ensemble_draws_every_model(
    tiny_bundle: Path, other_bundle: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    both = ("-m", tiny_bundle, "-m", other_bundle)
    shown = attn(capsys, "translate", *both, "--show", TEXT)
    assert tiny_bundle.name in shown and other_bundle.name in shown
    tagged = attn(capsys, "translate", *both, "--keep-tags", f"<b>{TEXT}</b>")
    assert "<b>" in tagged and "</b>" in tagged


def test_what_an_ensemble_cannot_do_is_one_line(
    tiny_bundle: Path, soft_captioner: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for options, other, message in (
        (["-s", "compute.backend=ctranslate2"], tiny_bundle, "several models"),
        (["--precision", "int8"], tiny_bundle, "several models"),
        ([], soft_captioner, "attn caption"),
    ):
        both = ("-m", tiny_bundle, "-m", other)
        [line] = attn(capsys, "translate", *both, *options, TEXT, status=1).splitlines()
        assert message in line


def test_captions_of_an_ensemble_with_attention_maps(
    soft_captioner: Path,
    hard_captioner: Path,
    photos: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = sorted(photos.glob("*.*"))
    given = ("caption", "--format", "jsonl", *files, "-m", soft_captioner)
    assert attn(capsys, *given, "-m", soft_captioner) == attn(capsys, *given)
    rows = attn(capsys, *given, "-m", hard_captioner).splitlines()
    assert {json.loads(row)["read"] for row in rows} == {"hard argmax"}
    assert attn(capsys, "caption", "--show", files[0], "-m", soft_captioner, "-m", hard_captioner)


def test_align_draws_models_side_by_side(
    tiny_bundle: Path, other_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(PAIR, "utf-8")
    both = ("align", "-m", tiny_bundle, "-m", other_bundle, pairs)
    shown = attn(capsys, *both, "--show")
    assert tiny_bundle.name in shown and other_bundle.name in shown
    page = tmp_path / "page.html"
    attn(capsys, *both, "--picture", page, "-o", tmp_path / "links.txt")
    assert other_bundle.name in page.read_text("utf-8")
    alone = attn(capsys, "align", "-m", tiny_bundle, pairs)
    assert (tmp_path / "links.txt").read_text("utf-8") == alone
    assert "--show" in attn(capsys, *both, status=2)
    assert "--reverse-model" in attn(
        capsys, *both, "--show", "--reverse-model", tiny_bundle, status=2
    )


@pytest.fixture
def other_classifier(toy_classifier: Path, tmp_path: Path) -> Path:
    """Return an untrained classifier whose labels have another order."""
    bundle = read(toy_classifier)
    assert isinstance(bundle.tokenizer, LabelTokenizer)
    source = bundle.tokenizer.files()["tokenizer.model"]
    tokenizer = LabelTokenizer(source, bundle.tokenizer.labels[::-1])
    with torch.random.fork_rng():
        torch.manual_seed(3)
        config = replace(bundle.model.config, pooling="mean")
        model = build(config, sizes_of(tokenizer, config.family))
    folder = tmp_path / "other"
    folder.mkdir()
    save(bundle._replace(model=model, tokenizer=tokenizer), folder)
    return folder


def test_classify_averages_the_probabilities_of_each_label(
    toy_classifier: Path, other_classifier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("classify", "--nbest", 9, "--format", "jsonl", *LABELLED)
    one, other = ("-m", toy_classifier), ("-m", other_classifier)
    rows = [
        [json.loads(line) for line in attn(capsys, *given, *chosen).splitlines()]
        for chosen in (one, other, (*one, *other))
    ]
    for first, second, both in zip(*rows, strict=True):
        each = [{p["label"]: p["probability"] for p in row["labels"]} for row in (first, second)]
        for found in both["labels"]:
            mean = (each[0][found["label"]] + each[1][found["label"]]) / 2
            assert found["probability"] == pytest.approx(mean, abs=2e-6)
        assert both["labels"] == sorted(both["labels"], key=lambda p: -p["probability"])
        assert both["weights"] == first["weights"]


def test_classifiers_of_other_labels_are_refused(
    toy_classifier: Path, other_classifier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = read(other_classifier)
    assert isinstance(bundle.tokenizer, LabelTokenizer)
    source, labels = bundle.tokenizer.files()["tokenizer.model"], bundle.tokenizer.labels
    tokenizer = LabelTokenizer(source, (*labels[:-1], "new"))
    save(bundle._replace(tokenizer=tokenizer), other_classifier)
    given = ("classify", "-m", toy_classifier, "-m", other_classifier, "a text")
    assert "have different labels" in attn(capsys, *given, status=1)
