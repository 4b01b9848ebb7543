"""Explanations of real bundles: words, public log-probabilities, control, limits."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from PIL import Image
from torch import Tensor

from models import load
from models.alignment.weights import encode
from models.core.errors import InputError
from models.engines.captioner import Captioner
from models.engines.translator import Translator
from models.explain import ExplainOptions
from models.explain.explanation import (
    SHARES,
    area,
    curves,
    explain_caption,
    explain_label,
    explain_pair,
    faithfulness,
    rank_correlation,
    ranks,
)
from models.explain.subject import ImageSubject
from tests.models.engines.small import noise

SOURCE = "The dog sees a small house."


def test_one_word_has_the_numbers_that_it_has_among_all(tiny_translator: Translator) -> None:
    pair = encode(tiny_translator, SOURCE, "Der Hund sieht ein kleines Haus.")
    every, one = (explain_pair(tiny_translator, pair, ExplainOptions(word=word)) for word in (0, 2))
    assert one.target == every.target[1:2] == ("Hund",)
    for row, other in zip(every.rows, one.rows, strict=True):
        torch.testing.assert_close(row.values[1:2], other.values, atol=1e-4, rtol=1e-4)
        for measure, same in zip(row.measures, other.measures, strict=True):
            torch.testing.assert_close(measure.values[1:2], same.values, atol=1e-4, rtol=1e-4)


def test_a_label_is_explained(toy_classifier: Path) -> None:
    classifier = load(toy_classifier, "classify")
    text = "play some jazz"
    explained = explain_label(classifier, text, ExplainOptions())
    [expected] = classifier.classify([text], attention=True)
    assert explained.target == (expected.label,)
    assert float(explained.log_probs.exp()) == pytest.approx(expected.labels[0].probability, 1e-4)
    weights = [weight for _, weight in expected.words]
    assert explained.rows[0].values[0].tolist() == pytest.approx(weights, abs=1e-5)
    assert list(explained.unsupported) == ["rollout", "look"]


def test_a_caption_has_curves(soft_captioner: Path) -> None:
    captioner, image = Captioner.read(soft_captioner), noise(32)
    [caption] = captioner.caption([image], attention=True)
    ids = caption.hypotheses[0].ids
    explained = explain_caption(captioner, image, ids, ExplainOptions(word=1))
    assert caption.attention is not None
    maps = caption.attention.maps.flatten(1)[0]
    torch.testing.assert_close(explained.rows[0].values[0], maps, atol=1e-5, rtol=1e-4)
    for row in explained.rows:
        deletion, insertion = (measure.curve for measure in row.measures)
        assert deletion is not None and insertion is not None
        torch.testing.assert_close(deletion[:, 0], explained.log_probs.exp())
        torch.testing.assert_close(insertion[:, -1], explained.log_probs.exp())


def test_gradients_of_an_image_are_complete(soft_captioner: Path) -> None:
    from models.explain.methods import integrated_gradients

    captioner = Captioner.read(soft_captioner)
    ids = captioner.caption([noise(32)])[0].hypotheses[0].ids[:3]
    subject = ImageSubject(captioner, noise(32), ids, torch.eye(len(ids)))
    ends = subject.log_probs(torch.stack([subject.vectors, subject.baseline])).detach()
    torch.testing.assert_close(
        integrated_gradients(subject).sum(1), ends[0] - ends[1], atol=1e-3, rtol=1e-2
    )


def test_empty_inputs_are_refused(toy_classifier: Path, soft_captioner: Path) -> None:
    with pytest.raises(InputError, match="empty text"):
        explain_label(load(toy_classifier, "classify"), " ", ExplainOptions())
    with pytest.raises(InputError, match="empty caption"):
        image = Image.new("RGB", (32, 32))
        explain_caption(Captioner.read(soft_captioner), image, (), ExplainOptions())


PARTS = torch.tensor(
    [[0.4, 0.1, 0.3, 0.2], [0.0, 0.5, 0.2, 0.3]]
)  # p(y) is the sum of what is kept


def additive(kept: Tensor) -> Tensor:
    """Return probabilities (N, J) to which every kept unit adds its part."""
    return kept.float() @ PARTS.T


def test_rank_correlation_depends_on_the_order_alone() -> None:
    values = torch.tensor([0.1, 3.0, -2.0, 0.5])
    assert rank_correlation(values, values.exp()) == pytest.approx(1)
    assert rank_correlation(values, -values) == pytest.approx(-1)
    # 1 - 6 sum d^2 / (n (n^2 - 1)) without ties, Spearman 1904
    assert rank_correlation(torch.tensor([1.0, 2, 3, 4]), torch.tensor([2.0, 1, 3, 4])) == (
        pytest.approx(1 - 6 * 2 / 60)
    )
    assert math.isnan(rank_correlation(values, torch.ones(4)))
    assert ranks(torch.tensor([3.0, 1.0, 3.0, 7.0])).tolist() == [2.5, 1.0, 2.5, 4.0]  # ties


def test_faithfulness_of_the_true_parts_is_their_sum() -> None:
    [(comprehensiveness, sufficiency)] = faithfulness([PARTS], additive)
    best = PARTS.sort(1, descending=True).values
    expected = torch.stack([best[:, : max(1, round(share * 4))].sum(1) for share in SHARES]).mean(0)
    torch.testing.assert_close(comprehensiveness.values, expected)
    torch.testing.assert_close(sufficiency.values, PARTS.sum(1) - expected)


def test_curves_begin_and_end_where_they_must() -> None:
    [(deletion, insertion)] = curves([PARTS], additive)
    assert deletion.curve is not None and insertion.curve is not None
    torch.testing.assert_close(deletion.curve[:, 0], PARTS.sum(1))
    torch.testing.assert_close(deletion.curve[:, -1], torch.zeros(2))
    torch.testing.assert_close(
        deletion.curve + insertion.curve, PARTS.sum(1)[:, None].expand(2, 11)
    )
    torch.testing.assert_close(insertion.values, area(insertion.curve))
    assert float(area(torch.linspace(0, 1, 11)[None])) == pytest.approx(0.5)
