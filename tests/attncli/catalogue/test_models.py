"""``attn models``: the zoo as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from attncli.catalogue._facts import catalogue
from attncli.train.configuration import run_config
from attncli.train.job import check_buildable
from attncli.training.config import from_toml
from models import build
from models.attention.config import HardConfig
from models.core import registry
from models.core.settings import fields_of
from models.core.sources import source_of
from models.storage import presets as zoo
from tests.attncli.command_line import Attn
from tests.attncli.training.small import finished_and_stopped


def test_the_list_has_every_name_with_a_line_and_a_paper(attn: Attn) -> None:
    names = {name for table in registry.TABLES.values() for name in table} | set(zoo.PRESETS)
    table, _, kinds = attn("models").out.partition("Parts: ")
    rows = [row.split(maxsplit=1) for row in kinds.splitlines()[1:]]
    every = set()
    for kind, row in rows:
        text = attn("models", kind).out
        assert text == attn("models", "show", kind).out
        summaries = text.splitlines()
        found = [line.split()[0] for line in summaries]
        shown, _, more = row.partition(" and ")
        assert shown.split(", ") == found[: len(found) - int((more or "0").split()[0])]
        every |= {*found}
        assert all(len(line.split()) > 3 for line in summaries)
    assert every == names and len(attn("models").out.splitlines()) < 60
    assert all(entry.summary and entry.source for entry in catalogue())
    groups = json.loads(attn("models", "--json").out)
    models = groups.pop("models")
    assert all(model["name"] in table for model in models)
    assert {entry["name"] for group in groups.values() for entry in group} == names


@pytest.mark.parametrize("name", [name for name in zoo.PRESETS if "nano" in name])
def test_a_preset_is_shown_as_it_is_trained(name: str, attn: Attn) -> None:
    changes = ["tokenizer.size=500"]
    text = attn("models", "show", name, "-s", *changes).out
    values = from_toml(text, "shown")
    assert run_config(values.pop("preset"), values) == run_config(name, assignments=changes)
    size = sum(parameter.numel() for parameter in build(name, vocabulary=500).parameters())
    source = source_of(zoo.model_config(name).family)
    tokens = "500 joint tokens" if source.reads_tokens else "500 tokens"
    tokens = "500 tokens, 500 labels" if source.task == "classify" else tokens
    assert f"# {size:,} parameters with {tokens}\n" in text


def test_a_part_is_shown_with_equation_source_and_options(attn: Attn) -> None:
    text = attn("models", "show", "additive").out
    assert "v^T tanh(" in text and "Source: Bahdanau" in text
    assert text.endswith("attn train --preset luong-small -s model.attention.score=additive\n")
    assert "transformer-tiny" in attn("models", "show", "transformer").out.splitlines()[-1]
    text = attn("models", "show", "hard").out
    assert "model.attention.read_gradient = reinforce " in text
    assert fields_of(HardConfig)["read_gradient"].metadata["doc"] in text
    assert "model.attention.coverage = false " in attn("models", "show", "additive").out
    assert " = " not in attn("models", "show", "dot").out.partition("Source:")[2]
    [hard] = [e for e in json.loads(attn("models", "--json").out)["reads"] if e["name"] == "hard"]
    assert hard["settings"][0]["name"] == "model.attention.read_decode"


def test_a_run_is_shown_with_data_score_and_card_before_the_settings_that_apply(
    tmp_path: Path, attn: Attn
) -> None:
    run, _ = finished_and_stopped(tmp_path)
    with (run / "card.md").open("a", encoding="utf-8") as card:
        card.write("\x1b[31mred\x1b]8;;http://x\x07 \u202egpj\n")
    text = attn("models", "show", str(run)).out
    assert not set("\x1b\x07\u202e") & set(text) and "\\x1b[31mred" in text
    facts = ["# task: translate", "# data: train.tsv", "# score: loss", "# run: finished, 14 up"]
    places = [text.index(fact) for fact in [*facts, "# # transformer-nano", "\n[model]"]]
    assert places == sorted(places)
    assert "model.image" not in text and "gate =" not in text and "languages =" not in text
    assert "encoder_layers" in text and "max_caption" not in text


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for kind in registry.TABLES
        if kind not in ("family", "source", "image_encoder", "importer", "rerank")
        for name in registry.names(kind)
    ],
)
def test_the_command_shown_for_a_part_is_a_valid_run_that_uses_it(
    attn: Attn, kind: str, name: str
) -> None:
    [usage] = [
        line.split()
        for line in attn("models", "show", name).out.splitlines()
        if line.startswith("attn train") and f".{kind}=" in line
    ]
    assert usage[2] == "--preset" and {*usage[4::2]} == {"-s"}
    check_buildable(run_config(usage[3], assignments=usage[5::2]))
