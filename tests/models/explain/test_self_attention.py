"""Self-attention between words."""

from __future__ import annotations

import torch

from models.attention.transformer import SelfAttention
from models.explain.methods import recorded_weights, self_weights
from models.inference.translator import Translator
from tests.models.small import small_model, sources

PAIRS = [("A dog runs fast.", "Ein Hund rennt."), ("The dog.", "Der Hund schläft nun tief.")]


def test_recorded_weights_are_those_that_the_layer_applies() -> None:
    """Of one head without output map, weights times values is the context."""
    model = small_model("transformer-tiny")
    ids, mask = sources(5, 3)
    with recorded_weights(model.encoder) as found:
        model.encode(ids, mask)
    depth = sum(isinstance(part, SelfAttention) for part in model.encoder.modules())
    assert len(found) == depth
    for weights in found:
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, weights.shape[1], 5))
        assert not weights[1, :, :, 3:].any()


def test_a_pair_has_its_self_attention_whatever_is_beside_it(tiny_translator: Translator) -> None:
    config = tiny_translator.alignment
    together = self_weights(tiny_translator, PAIRS, config)
    for pair, found in zip(PAIRS, together, strict=True):
        [alone] = self_weights(tiny_translator, [pair], config)
        for own, single in zip(found, alone, strict=True):
            assert own is not None and single is not None
            torch.testing.assert_close(own, single)
            assert own.sum(-1).max() <= 1 + 1e-5 and own.sum(-1).max() > 0


def test_a_word_of_a_translation_reads_none_after_it(tiny_translator: Translator) -> None:
    for found in self_weights(tiny_translator, PAIRS, tiny_translator.alignment):
        assert found.target is not None
        assert not found.target.triu(1).any() and found.target.tril().any()
