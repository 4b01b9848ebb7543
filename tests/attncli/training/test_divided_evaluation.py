"""Evaluation in rounds gives the scores of one that is not divided."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from attncli.tasks.translate.training.dev import DevTexts
from attncli.tasks.translate.training.dev_directions import DevDirections
from attncli.training.distributed.evaluation import DividedEvaluation
from attncli.training.distributed.world import ALONE
from attncli.training.events import Scores
from attncli.training.run.run import completed, fresh_state
from attncli.training.sources import training_source
from attncli.training.updates.evaluation import dev_scores
from models.bundle import Bundle
from tests.attncli.training.small import small_config, write_texts


@pytest.mark.parametrize("metric", ["loss", "bleu"])
def test_the_scores_are_those_of_the_whole(metric: str, tmp_path: Path) -> None:
    config = small_config(write_texts(tmp_path), f"train.metric={metric}")
    source = training_source(config.model.family)
    data = source.load(config, tmp_path / "run", lambda *progress: None)
    config = completed(config, data)
    model = fresh_state(config, data.prepared, torch.device("cpu")).model
    assert data.dev is not None
    bundle = Bundle(model, data.prepared.tokenizer, config.tokenizer, config.search)
    parts = bundle, data.dev, config.train
    rounds, shares = DividedEvaluation(*parts).rounds(ALONE), []
    scores: Scores | None = None
    while scores is None:
        try:
            shares.append(next(rounds))
        except StopIteration as end:
            scores = end.value
    assert shares and scores == dev_scores(*parts, lambda share: None)


def test_some_sources_of_several_directions_keep_their_direction() -> None:
    one = DevTexts(["a", "b", "c"], [["A", "B", "C"]], to="de")
    two = DevTexts(["d", "e"], [["D", "E"]], to="fr")
    some = DevDirections((one, two)).some([0, 2, 4])
    assert [part.sources for part in some.parts] == [["a", "c"], ["e"]]
    assert [part.references for part in some.parts] == [[["A", "C"]], [["E"]]]
    assert [part.to for part in some.parts] == ["de", "fr"]
