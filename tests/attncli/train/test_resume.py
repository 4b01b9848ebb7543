"""A run that is stopped anywhere ends as an unbroken one, whatever it trains on and how."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from models.networks.image_encoder import SmallCnn
from tests.attncli.training.kinds import CHANGED, KINDS, VARIED
from tests.attncli.training.small import assert_stops_change_nothing
from tests.attncli.training.small_captions import PATCHES, PRETRAINED, random_weights

HARD = "show-attend-tell-hard-nano"
EIGHT_STEPS = ("train.steps=8", "train.evaluate_every=3")
VARIANTS: dict[str, tuple[str, tuple[str, ...], str]] = {  # kind, settings, preset ("": its usual)
    "ema": (
        "pairs",
        ("train.ema=0.9", "train.average=3", "train.evaluate_every=4", "train.metric=bleu"),
        "",
    ),
    "shards": (
        "pairs",
        ("train.shards=2", "train.evaluate_every=0", "train.optimiser=muon", "train.average=2"),
        "",
    ),
    "bf16": ("pairs", ("train.precision=bf16",), ""),
    "plateau": (
        "pairs",
        (
            *("train.schedule=plateau", "train.plateau_patience=1", "train.lr=0.05"),
            *("train.evaluate_every=2", "train.steps=10"),
        ),
        "rnnsearch-nano",
    ),
    "patience": (
        "pairs",
        (
            *("train.patience=2", "train.evaluate_every=1", "train.steps=0"),
            *("train.optimiser=muon", "train.lr=0.3"),
        ),
        "luong-nano",
    ),
    "varied": ("corpora", (*VARIED, *EIGHT_STEPS), ""),
    "labels": ("labels", ("train.average=2", "train.optimiser=muon"), ""),
    "self-attentive": ("labels", ("model.attention.heads=2",), "self-attentive-small"),
    "hard labels": (
        "labels",
        ("model.heads=2", "model.attention.read=hard", "train.optimiser=muon"),
        "classifier-transformer-small",
    ),
    "frozen": ("captions", (*PATCHES, "train.average=2", "train.metric=cider"), ""),
    "hard": ("captions", (*PATCHES, "train.ema=0.9"), HARD),
    "learned": ("captions", EIGHT_STEPS, ""),
    "self-critical": (
        "captions",
        (*PATCHES, *EIGHT_STEPS, "train.self_critical_lr=0.00005", "train.ema=0.5"),
        "",
    ),
    "captioner": (
        "captions",
        (*PATCHES, "train.optimiser=muon", "train.steps=8"),
        "captioner-transformer-nano",
    ),
    "unfrozen": (
        "captions",
        (*PRETRAINED, "train.optimiser=muon", "train.encoder_from=2", "train.epochs=3"),
        HARD,
    ),
    "sound": ("recordings", CHANGED, ""),
    "rows": ("rows", ("model.combination=hierarchical", *EIGHT_STEPS), ""),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_run_stopped_anywhere_ends_as_an_unbroken_one(
    variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, changes, preset = VARIANTS[variant]
    monkeypatch.setattr(SmallCnn, "load", random_weights)
    named: dict[str, Any] = {"preset": preset} if preset else {}
    assert_stops_change_nothing(KINDS[kind](tmp_path, *changes, **named), tmp_path)
