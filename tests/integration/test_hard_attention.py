"""How a model with hard attention was read: chosen on the command line, and said."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch

from models.bundle import Bundle, build, save, sizes_of
from models.catalogue.presets import model_config
from models.config import AttentionConfig
from models.text.tokenizer import Tokenizer
from models.use_config import SearchConfig, TokenizerConfig
from tests.attncli.command_line import Attn
from tests.models.small import add_noise

TEXT = "The old dog sees a small house."


@pytest.fixture(scope="module")
def hard_bundle(tiny_tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an untrained model with hard attention, whose slots are about equally likely."""
    config = dataclasses.replace(
        model_config("luong-nano"), attention=AttentionConfig(score="general", read="hard")
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = build(config, sizes_of(tiny_tokenizer, config.family))
        add_noise(model, 0.1)
    folder = tmp_path_factory.mktemp("hard") / "bundle"
    folder.mkdir()
    save(Bundle(model, tiny_tokenizer, TokenizerConfig(), SearchConfig()), folder)
    return folder


def test_translations_say_how_the_memory_was_read(hard_bundle: Path, attn: Attn) -> None:
    command = ("translate", "-m", hard_bundle, "--format", "jsonl", TEXT, TEXT)
    found = {}
    for decode in (None, "argmax", "sample", "expected"):
        choice = ("-s", f"attention.read_decode={decode}") if decode else ()
        out, err = attn(*command, *choice)
        records = [json.loads(line) for line in out.splitlines()]
        assert {record["read"] for record in records} == {f"hard {decode or 'argmax'}"}
        assert err.count(f"hard attention, read by {decode or 'argmax'}\n") == 1
        assert records[0] == records[1]
        found[decode] = records[0]["hypotheses"]
    assert found[None] == found["argmax"] != found["expected"]
    other, _ = attn(*command, "-s", "attention.read_decode=sample", "-s", "search.seed=2")
    assert json.loads(other.splitlines()[0])["hypotheses"] != found["sample"]


def test_scores_say_how_the_memory_was_read(hard_bundle: Path, tmp_path: Path, attn: Attn) -> None:
    test = tmp_path / "test.tsv"
    test.write_text(f"{TEXT}\tDer alte Hund sieht ein kleines Haus.\n", "utf-8")
    task = ("evaluate", "-m", hard_bundle, test)
    out = attn(*task, "-s", "attention.read_decode=expected").out
    assert "bundle: hard attention, read by expected" in out
    assert json.loads(attn(*task, "--json").out)["systems"][0]["read"] == "hard argmax"


def test_alignments_say_how_the_memory_was_read(
    hard_bundle: Path, tmp_path: Path, attn: Attn
) -> None:
    files = tmp_path / "a.en", tmp_path / "a.de"
    for file, text in zip(files, (TEXT, "Der alte Hund sieht ein kleines Haus."), strict=True):
        file.write_text(f"{text}\n", "utf-8")
    task = ("align", "-m", hard_bundle, *files)
    links, err = attn(*task)
    assert "hard attention, read by argmax" in err
    err = attn(*task, "-s", "attention.read_decode=expected").err
    assert "hard attention, read by expected" in err
    (tmp_path / "gold").write_text(links, "utf-8")
    score = ("evaluate", "alignments", "--gold", tmp_path / "gold", "--gold-index", "0", *files)
    table, err = attn(*score, "-m", hard_bundle, "--json")
    assert "hard attention, read by argmax" in err
    assert json.loads(table)["systems"][0]["scores"]["AER"]["score"] == 0


def test_a_soft_model_has_no_choice_and_says_nothing(tiny_bundle: Path, attn: Attn) -> None:
    task = ("translate", "-m", tiny_bundle, TEXT)
    out, err = attn(*task, "--format", "jsonl")
    assert "read" not in json.loads(out) and "hard" not in err
    assert "not hard" in attn(*task, "-s", "attention.read_decode=sample", status=1).err
