"""Training of one model on corpora of several languages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attncli.data.mixture import Mixture
from attncli.training.command_line import settings
from attncli.training.folder import RunFolder
from attncli.training.log import read_log
from attncli.training.settings.corpora import parse_corpus
from models import load_translator
from models.core.errors import ModelError
from tests.attncli.training.kinds import of_corpora as config_of
from tests.attncli.training.kinds import write_corpus
from tests.attncli.training.small import SMALL, load, run


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run folder."""
    folder = tmp_path_factory.mktemp("multilingual")
    run(config_of(folder, "train.metric=bleu"), folder / "run")
    return folder / "run"


def test_the_languages_and_directions_are_stored_with_the_model(trained: Path) -> None:
    translator = load_translator(trained)
    assert translator.languages == ("de", "en", "fr")
    assert translator.tokenizer_config.directions == ("de-en", "en-de", "en-fr")
    assert translator.for_direction("fr", "de").is_zero_shot("de")
    assert [t.to for t in translator.translate(["The dog runs."] * 2, to=["de", "fr"])] == [
        "de",
        "fr",
    ]


def test_dev_scores_are_logged_by_direction_and_their_mean_counts(trained: Path) -> None:
    records = [r for r in read_log(RunFolder(trained).log) if "gained" in r]
    assert records
    for record in records:
        assert set(record["directions"]) == {"en-de", "de-en"}
        mean = sum(record["directions"].values()) / 2
        assert record["bleu"] == pytest.approx(mean, rel=1e-5)  # the log has six digits


def test_a_weight_is_a_factor_on_the_share_of_a_corpus(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    path = config.data.corpora[1].files[0]
    weighted = parse_corpus(f"en-to-fr:5={path}")
    assert weighted == replace(config.data.corpora[1], weight=5.0)
    corpora = (config.data.corpora[0], weighted)
    config = replace(config, data=replace(config.data, corpora=corpora))
    prepared = load(config, tmp_path / "run")
    assert "en-fr 12 pairs (33 %)" in prepared.remarks[0]  # 5 * 12 of 60 + 60 + 5 * 12
    examples = prepared.examples.at(0)
    assert isinstance(examples, Mixture)
    counts = np.bincount(examples.direction_of(examples.rows[:, 0]))
    assert counts.tolist() == [44, 44, 44]


def test_training_can_begin_with_a_multilingual_model(trained: Path, tmp_path: Path) -> None:
    config = config_of(tmp_path, "train.steps=2", start=trained)
    assert config.tokenizer.languages == ("de", "en", "fr")
    run(config, tmp_path / "more")
    assert load_translator(tmp_path / "more").languages == ("de", "en", "fr")
    swedish = [parse_corpus(f"en-sv={config.data.corpora[0].files[0]}")]
    with pytest.raises(ModelError, match="unknown language of a corpus 'sv'"):
        settings([], corpora=swedish, start=trained)


def test_back_translated_sources_begin_with_their_token(tmp_path: Path) -> None:
    corpora = [
        parse_corpus(f"en-de={write_corpus(tmp_path, 'en', 'de', 60)}"),
        parse_corpus(f"en-de={write_corpus(tmp_path, 'en', 'de', 9, seed=3)}", tagged=True),
    ]
    config = settings([], [], "transformer-nano", [*SMALL, "train.steps=2"], corpora=corpora)
    assert config.tokenizer.directions == ("de-en", "en-de")
    prepared = load(config, tmp_path)
    batch = prepared.examples.batch(np.array([0, 125]))
    pieces = [prepared.tokenizer.source.id_to_piece(row.tolist())[:3] for row in batch.source]
    assert pieces[0][0] == "<2de>" and pieces[0][1] != "<bt>"
    assert pieces[1][:2] == ["<2de>", "<bt>"]
    assert prepared.examples.count == 129  # the tagged corpus is used in one direction
