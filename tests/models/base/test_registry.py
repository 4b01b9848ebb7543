"""Every name in the registry leads to a class that explains itself; looking costs no torch."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import models
from models.base.errors import ModelError
from models.base.registry import TABLES, describe, find, location, names
from models.catalogue.presets import PRESETS, model_config
from models.config import RECURRENT_SCORE

ENTRIES = [(kind, name) for kind in TABLES for name in names(kind)]
UNSOURCED: set[tuple[str, str]] = set()  # variants that come from no paper


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_a_name_leads_to_a_class_that_explains_itself(kind: str, name: str) -> None:
    variant, description = find(kind, name), describe(kind, name)
    assert inspect.isclass(variant) and description.name == name
    summary, _, detail = inspect.cleandoc(variant.__doc__ or "").partition("\n")
    assert description.summary == summary.strip() and description.detail == detail.strip()
    assert summary.endswith(".") and len(summary) < 90
    assert description.source or (kind, name) in UNSOURCED
    assert not description.source or any(char.isdigit() for char in description.source)  # a year


@pytest.mark.parametrize("kind", TABLES)
def test_an_unknown_name_is_refused_in_one_line_with_near_ones(kind: str) -> None:
    known = names(kind)[-1]
    for lookup in (location, find, describe):
        with pytest.raises(ModelError, match=f"unknown {kind}") as refused:
            lookup(kind, known + "x")
        message = str(refused.value)
        assert f"did you mean {known}" in message and "\n" not in message


def test_no_class_has_two_names() -> None:
    places = [place for table in TABLES.values() for place in table.values()]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_of_registered_parts(name: str) -> None:
    config, family = models.info(name)
    assert config == model_config(name) and family == describe("family", config.family)
    for kind in ("score", "window", "normalise", "read"):
        location(kind, getattr(config.attention, kind) or RECURRENT_SCORE)


def test_the_facade_lists_and_builds() -> None:
    assert models.list_models() == list(PRESETS)
    model = models.build("rnnsearch-nano", vocabulary=50)
    assert model.config == model_config("rnnsearch-nano") and model.output.bias.shape == (50,)


def test_looking_at_the_zoo_imports_no_torch() -> None:
    code = """
import sys
import models, models.config, models.base.errors, models.base.registry
import models.text.tokenizer, models.base.types
import models.base.files, models.catalogue.presets
for preset in models.list_models():
    models.info(preset)
for kind in models.base.registry.TABLES:
    for name in models.base.registry.names(kind):
        models.base.registry.describe(kind, name)
print(sorted({"torch", "numpy", "sentencepiece", "safetensors"} & set(sys.modules)))
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"
