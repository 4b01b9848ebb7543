"""Tuning: what is counted is what aligning gives, and the best is found and kept."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from attncli.embedded.grammar import Pair
from models import load_translator
from models.alignment import (
    AlignConfig,
    GoldLinks,
    agree,
    align,
    error_rate,
    head_weights,
    mutual_trials,
    trials,
    tune,
)
from models.base.errors import ModelError
from models.bundle import read, write_alignment
from models.inference.translator import Translator


def test_what_is_counted_is_what_aligning_gives(
    tiny_translator: Translator, tiny_pairs: list[Pair]
) -> None:
    pairs = [(pair.source, pair.target) for pair in tiny_pairs[:6]]
    sure = [set(pair.links[::2]) for pair in tiny_pairs[:6]]
    possible = [set(pair.links[1::2]) for pair in tiny_pairs[:6]]
    gold = [GoldLinks(*links) for links in zip(sure, possible, strict=True)]
    tried = trials(tiny_translator, pairs, gold)
    assert len({trial.config for trial in tried}) == len(tried)
    assert tried == sorted(tried, key=lambda trial: trial.error_rate)
    for trial in [*tried[:3], *tried[:: len(tried) // 50]]:
        found = align(tiny_translator, pairs, config=trial.config)
        rate = error_rate([one.links for one in found], sure, possible)
        assert trial.error_rate == pytest.approx(rate, abs=1e-6), trial.config
    assert tune(tiny_translator, pairs, gold) == tried[0].config
    assert tried[0].error_rate < tried[-1].error_rate


def test_the_plainest_of_equals_wins(tiny_translator: Translator) -> None:
    config = tune(tiny_translator, [("Dog", "Hund")], [GoldLinks({(0, 0)})])
    assert config == dataclasses.replace(AlignConfig(), layer=1, extract="argmax")


def test_gold_that_does_not_fit_is_refused(tiny_translator: Translator) -> None:
    with pytest.raises(ModelError, match="gold link 1-0 of a pair with 1 and 2 words"):
        tune(tiny_translator, [("a", "b c")], [GoldLinks({(1, 0)})])
    with pytest.raises(ModelError, match="sure links"):
        tune(tiny_translator, [("a", "b c")], [GoldLinks(set(), {(0, 0)})])
    with pytest.raises(ModelError, match="1 pairs"):
        tune(tiny_translator, [("a", "b c")], [])


def test_a_bundle_keeps_how_it_is_read(tiny_bundle: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(tiny_bundle, folder)
    before = json.loads((folder / "config.json").read_text("utf-8"))
    assert "alignment" not in before and read(folder).alignment == AlignConfig()
    config = AlignConfig(layer=1, head=2, extract="transport", threshold=0.4)
    write_alignment(folder, config)
    after = json.loads((folder / "config.json").read_text("utf-8"))
    assert {name: after[name] for name in before} == before
    assert load_translator(folder).alignment == config
    assert not list(folder.glob(".*"))


def test_two_directions_agree_more_than_they_did(
    tiny_translator: Translator, tiny_pairs: list[Pair]
) -> None:
    pairs = [(pair.source, pair.target) for pair in tiny_pairs[:12]]
    turned = [pair[::-1] for pair in pairs]

    def disagreement(forward: AlignConfig, reverse: AlignConfig) -> float:
        ahead = [one.links for one in align(tiny_translator, pairs, config=forward)]
        back = [one.links for one in align(tiny_translator, turned, config=reverse)]
        return error_rate(ahead, [{(i, j) for j, i in links} for links in back])

    found = agree(tiny_translator, tiny_translator, pairs)
    chosen = found.forward[0].config, found.reverse[0].config
    assert found.reverse[0].error_rate == pytest.approx(disagreement(*chosen), abs=1e-6)
    plain = tiny_translator.alignment
    assert found.reverse[0].error_rate < disagreement(plain, plain)


def test_alone_counts_the_weight_where_both_sides_look_at_each_other(
    tiny_translator: Translator, tiny_pairs: list[Pair]
) -> None:
    pairs = [(pair.source, pair.target) for pair in tiny_pairs[:5]]
    tried = mutual_trials(tiny_translator, pairs)
    best = min(tried, key=lambda trial: trial.error_rate)
    assert 1 - tried[0].error_rate >= 0.9 * (1 - best.error_rate)
    assert tried[0] == best or not tried[0].config.head
    for trial in tried:
        config, total, words = trial.config, 0.0, 0
        for each in head_weights(tiny_translator, pairs, config=config):
            assert each is not None
            rows = each[config.layer - 1]  # (H, J, I)
            weights = (rows[config.head - 1] if config.head else rows.mean(0)).tolist()
            for j, row in enumerate(weights):
                for i, weight in enumerate(row):
                    column = [other[i] for other in weights]
                    total += weight * (weight == max(row) and j == column.index(max(column)))
            words += max(len(weights), len(weights[0]))
        assert trial.error_rate == pytest.approx(1 - total / words, abs=1e-5)
