"""Several -m: an ensemble in translate, heat maps side by side in align."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models import load_ensemble
from models.core.use_config import SearchConfig
from models.engines.translator import EnsembleTranslator
from models.networks.bundle import build, read, save, sizes_of
from tests.attncli.command_line import Attn

TEXT = "The old dog sees a small house."
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


def test_the_same_model_twice_changes_nothing(tiny_bundle: Path, attn: Attn) -> None:
    given = ("translate", "-s", "compute.backend=torch", "--nbest", 3, TEXT, "--format", "jsonl")
    one = ("-m", tiny_bundle)
    assert attn(*given, *one, *one).out == attn(*given, *one).out


def test_a_glossary_forces_its_terms_in_an_ensemble(
    tiny_bundle: Path, other_bundle: Path, tmp_path: Path, attn: Attn
) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("dog\tHund\nhouse\tHaus\n")
    given = ("translate", "--nbest", 2, "--glossary", terms, TEXT)
    one, other = ("-m", tiny_bundle), ("-m", other_bundle)
    outputs = attn(*given, *one, *other).out.splitlines()
    assert len(outputs) == 2
    assert all("Hund" in output and "Haus" in output for output in outputs)
    assert "Hund" not in attn("translate", *one, *other, TEXT).out
    assert attn(*given, *one, *one).out == attn(*given, *one).out


def test_translate_averages_models_of_other_families(
    tiny_bundle: Path, other_bundle: Path, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensemble = load_ensemble([tiny_bundle, other_bundle])
    assert isinstance(ensemble, EnsembleTranslator)
    expected = ensemble.translate([TEXT])[0].hypotheses[0]
    both = ("-m", tiny_bundle, "-m", other_bundle)
    out = attn("translate", *both, "--scores", TEXT).out
    assert out == f"{expected.score:.4f}\t{expected.text}\n"
    monkeypatch.setenv("ATTN_MODEL", f"{tiny_bundle}:{other_bundle}")
    assert attn("translate", "--scores", TEXT).out == out


def test_align_draws_models_side_by_side(
    tiny_bundle: Path, other_bundle: Path, tmp_path: Path, attn: Attn
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(PAIR, "utf-8")
    both = ("align", "-m", tiny_bundle, "-m", other_bundle, pairs)
    shown = attn(*both, "--show").out
    assert tiny_bundle.name in shown and other_bundle.name in shown
    page = tmp_path / "page.html"
    attn(*both, "--picture", page, "-o", tmp_path / "links.txt")
    assert other_bundle.name in page.read_text("utf-8")
    alone = attn("align", "-m", tiny_bundle, pairs).out
    assert (tmp_path / "links.txt").read_text("utf-8") == alone
    assert "--show" in attn(*both, status=2).err
    assert "--reverse-model" in attn(*both, "--show", "--reverse-model", tiny_bundle, status=2).err
