"""An output layer in bf16 changes scores by less than its tolerance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from models.base.errors import ConfigurationError
from models.config.tables import SearchConfig
from models.inference.search import rounded_output
from models.inference.search.beam import search
from models.inference.search.rounded_output import (
    TOLERANCE,
    RoundedBackend,
    bf16_gain,
    has_fast_bf16,
)
from models.inference.search.top_tokens import TopTokens
from tests.models.small import small_model, sources

rounds = pytest.mark.skipif(not has_fast_bf16(), reason="a processor without products of bf16")
CONFIG = SearchConfig(beam=3, nbest=3)


@rounds
@pytest.mark.parametrize("preset", ["rnnsearch-nano", "luong-nano", "transformer-nano"])
@torch.no_grad()
def test_scores_differ_by_less_than_the_tolerance(preset: str) -> None:
    model, given = small_model(preset, 300), sources(7, 5, 3, vocabulary=300)
    memory, limits = model.encode(*given), [12, 9, 20]
    exact, rounded = (
        search(backend, memory, limits, [""] * 3, CONFIG)
        for backend in (model, RoundedBackend(model))
    )
    for one, other in zip(exact, rounded, strict=True):
        scores = [found.score for found in one]
        assert [found.score for found in other] == pytest.approx(scores, abs=TOLERANCE)


@rounds
@torch.no_grad()
def test_the_best_candidates_have_the_logits_of_fp32_in_their_order() -> None:
    model = small_model("rnnsearch-nano", 300)
    backend = RoundedBackend(model)
    prepared, state = backend.start(backend.encode(*sources(7, 5)))
    step = backend.step(torch.tensor([1, 1]), state, prepared)
    logits = model.step(torch.tensor([1, 1]), state, prepared).logits
    assert not torch.equal(step.logits, logits) and step.exact is not None
    rows, tokens = torch.tensor([[0] * 9, [1] * 9]), step.logits.topk(9).indices
    torch.testing.assert_close(step.exact(rows, tokens), logits.gather(1, tokens))
    total = step.log_total(step.logits.amax(1))[:, None]
    rough = TopTokens(step.logits.gather(1, tokens) - total, rows * 0, tokens)
    best = rounded_output.exact_best(rough, torch.zeros(2, 1), total, step.exact, 4)
    assert torch.equal(best.tokens, logits.topk(4).indices)
    expected = logits.log_softmax(-1).topk(4).values
    torch.testing.assert_close(best.log_probs, expected, atol=TOLERANCE, rtol=0)
    first = (rough.log_probs[:, :4] - expected).abs().mean()
    assert (best.log_probs - expected).abs().mean() < first  # the normaliser is corrected, too


@rounds
def test_the_gain_is_a_ratio_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(100))
    clock: Any = lambda: next(times) ** 2  # noqa: E731
    monkeypatch.setattr("time.perf_counter", clock)
    assert 0 < bf16_gain(small_model("rnnsearch-nano")) < 1  # each interval is longer


@pytest.mark.parametrize("change", [{"method": "sample"}, {"shortlist": True}])
def test_samples_and_shortlists_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="bf16"):
        rounded_output.check_search(replace(CONFIG, **change))
