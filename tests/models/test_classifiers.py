"""Classifiers: a label is one step of a decoder, whose weights are those of the pooling."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from torch import Tensor

from models.core.config import AttentionConfig, AttentionLossConfig
from models.core.errors import ModelError
from models.core.types import Batch, VocabularySizes
from models.networks.bundle import build
from models.networks.decoder import DecoderOutput
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.losses import AttentionLoss
from models.text.tokenizer import START
from tests.models.small import CLASSIFIERS, VOCABULARY, small_config, small_model, sources

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
def test_a_text_has_the_same_label_alone_and_in_a_batch(preset: str) -> None:
    model, (source, mask) = small_model(preset), sources(*LENGTHS)
    together = forced(model, labelled(source, mask))
    assert together.weights is not None
    for row, length in enumerate(LENGTHS):
        single = forced(
            model, labelled(source[row : row + 1, :length], mask[row : row + 1, :length])
        )
        assert single.weights is not None
        torch.testing.assert_close(single.features[0], together.features[row], **CLOSE)
        torch.testing.assert_close(single.weights[0], together.weights[row, :, :length], **CLOSE)


@each_classifier
def test_weights_are_the_mean_of_the_heads(preset: str) -> None:
    found = forced(small_model(preset), labelled(*sources(*LENGTHS)))
    assert found.weights is not None and found.heads is not None
    torch.testing.assert_close(found.heads[:, 0].mean(1), found.weights, **CLOSE)
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(len(LENGTHS), 1), **CLOSE)


@each_classifier
def test_training_reaches_every_parameter(preset: str) -> None:
    config = small_config(preset)
    model = build(config, VocabularySizes(VOCABULARY, LABELS, False)).train()
    batch = labelled(*sources(*LENGTHS))
    logits = model.output(model.teacher_force(batch).features[batch.target_mask])
    torch.nn.functional.cross_entropy(logits, batch.target_out[:, 0]).backward()
    assert logits.shape == (len(LENGTHS), LABELS)
    missing = [name for name, p in model.named_parameters() if p.grad is None]
    assert not missing


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


@pytest.mark.parametrize("preset", ["rnnsearch-nano", "bilstm-attention-nano"])
def test_the_penalty_is_refused_without_a_pooling_that_attends(preset: str) -> None:
    config = dataclasses.replace(small_config(preset), pooling="mean", attention=AttentionConfig())
    model = build(config, VocabularySizes(VOCABULARY, VOCABULARY, True))
    with pytest.raises(ModelError, match="redundancy=1.0 for family .*a classifier whose pooling"):
        AttentionLoss(AttentionLossConfig(redundancy=1.0), model)


def test_a_classifier_needs_an_encoder_layer() -> None:
    config = dataclasses.replace(small_config("bilstm-attention-nano"), encoder_layers=0)
    with pytest.raises(ModelError, match="at least 1 for a text model"):
        build(config, VocabularySizes(VOCABULARY, LABELS, False))
