"""Classifiers: a label is one step of a decoder, whose weights are those of the pooling."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from models.core.attention_config import AttentionLossConfig
from models.core.types import Batch
from models.networks.decoder import DecoderOutput
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.losses import AttentionLoss
from models.text.tokenizer import START
from tests.models.small import CLASSIFIERS, small_model, sources

LABELS = 5
LENGTHS = (4, 7, 2)
CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}
each_classifier = pytest.mark.parametrize("preset", CLASSIFIERS)


def labelled(source: Tensor, mask: Tensor) -> Batch:
    """Return texts whose labels are 0, 1, 2, .."""
    labels = torch.arange(len(source))[:, None] % LABELS
    return Batch(source, mask, torch.full_like(labels, START), labels, labels >= 0)


def forced(model: EncoderDecoder, batch: Batch) -> DecoderOutput:
    with torch.no_grad():
        return model.teacher_force(batch, want_weights=True, want_heads=(0,))


@each_classifier
def test_weights_are_the_mean_of_the_heads(preset: str) -> None:
    found = forced(small_model(preset), labelled(*sources(*LENGTHS)))
    assert found.weights is not None and found.heads is not None
    torch.testing.assert_close(found.heads[:, 0].mean(1), found.weights, **CLOSE)
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(len(LENGTHS), 1), **CLOSE)


def test_the_penalty_is_added_to_the_loss_for_each_text() -> None:
    model, batch = small_model("self-attentive-small"), labelled(*sources(*LENGTHS))
    found, nll = forced(model, batch), torch.zeros(len(LENGTHS))
    assert found.heads is not None
    loss = AttentionLoss(AttentionLossConfig(redundancy=2.0), model)
    assert loss.want_heads == (0,)
    total, _ = loss(found, batch, nll, None)
    wanted = 0.0
    for heads in found.heads[:, 0, :, 0]:  # (H, S)
        wanted += 2.0 * float((heads @ heads.T - torch.eye(len(heads))).square().sum())
    assert float(total) == pytest.approx(wanted, rel=1e-5)
