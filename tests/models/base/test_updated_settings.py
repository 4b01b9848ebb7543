"""Stored settings of earlier versions keep their meaning."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from models.base.removed_settings import updated
from models.base.settings import from_dict, to_dict
from models.config import AttentionConfig, ModelConfig


def stored_by_an_earlier_version(family: str) -> dict[str, Any]:
    config = ModelConfig(family=family, attention=AttentionConfig(score="additive"))
    model = to_dict(config)
    del model["self_attention"], model["position"], model["attention"]["read_gradient"]
    return {"model": model}


@pytest.mark.parametrize(
    ("family", "score"),
    [("transformer", ""), ("captioner-transformer", ""), ("rnnsearch", "additive")],
)
def test_an_earlier_transformer_did_not_read_its_score(family: str, score: str) -> None:
    found = updated(stored_by_an_earlier_version(family), "config.json")
    assert from_dict(ModelConfig, found["model"]).attention.score == score


def test_a_transformer_with_additive_attention_keeps_it() -> None:
    config = dataclasses.replace(ModelConfig(), attention=AttentionConfig(score="additive"))
    found = updated({"model": to_dict(config)}, "config.json")
    assert from_dict(ModelConfig, found["model"]) == config
    named = updated({"model": {"family": "transformer", "attention": {"score": "additive"}}}, "")
    assert named["model"]["attention"]["score"] == "additive"
