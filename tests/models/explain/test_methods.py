"""Methods of explanation equal their published equations, on models of several families.

Captum is not a dependency, so each test computes the equation of the paper itself.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

import pytest
import torch

from models.core.registry import source_name
from models.engines.translator import Translator
from models.explain import METHODS
from models.explain.methods import (
    completeness_gaps,
    decoder_rollout,
    erasure,
    integrated_gradients,
    self_weights,
    with_residual,
)
from models.explain.subject import TextSubject, UnsupportedMethodError
from models.storage.presets import model_config
from models.text.tokenizer import END
from tests.models.small import CLASSIFIERS, TEXT_PRESETS, small_model, sources

TRANSLATORS = [name for name in TEXT_PRESETS if source_name(model_config(name).family) == "text"]
SAMPLED = ("transformer-tiny", "luong-nano", "rnnsearch-nano", "seq2seq-nano")
LENGTH, TOKENS = 6, 4


def subject_of(preset: str) -> TextSubject:
    """Return a text of 5 words and, for a translator, an end mark; 3 words out, one of 2 tokens."""
    source, target = sources(LENGTH, seed=3)[0][0].tolist(), sources(TOKENS, seed=4)[0][0].tolist()
    owner = torch.tensor([0, 1, 2, 3, 4, -1])
    words = torch.tensor([[1.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    if preset in CLASSIFIERS:
        return TextSubject(small_model(preset), source[:-1], target[:1], owner[:-1], words[:1, :1])
    return TextSubject(small_model(preset), source, target, owner, words)


@pytest.mark.parametrize("preset", [*SAMPLED, *CLASSIFIERS])
def test_integrated_gradients_are_complete(preset: str) -> None:
    subject = subject_of(preset)
    ends = subject.log_probs(torch.stack([subject.vectors, subject.baseline])).detach()
    found = integrated_gradients(subject)
    torch.testing.assert_close(found.sum(1), ends[0] - ends[1], atol=2e-3, rtol=0.011)
    gaps = completeness_gaps(subject, found)
    expected = (found.sum(1) - ends[0] + ends[1]).abs() / (ends[0] - ends[1]).abs().clamp_min(1e-3)
    torch.testing.assert_close(gaps, expected, atol=0.02, rtol=0.1)


@pytest.mark.parametrize("preset", [*SAMPLED, *CLASSIFIERS])
def test_erasure_compares_with_the_shorter_text(preset: str) -> None:
    """An input computed by itself, without padding, has the same log-probability."""
    subject, found = subject_of(preset), erasure(subject_of(preset))
    whole = subject.log_probs(subject.vectors[None])[0]
    for word in range(subject.units):
        slots = [n for n in range(len(subject.ids)) if n != word]
        shorter = TextSubject(
            subject.model,
            [subject.ids[n] for n in slots],
            subject.target[0].tolist(),
            subject.owner[slots],
            subject.words,
        )
        expected = whole - shorter.log_probs(shorter.vectors[None])[0]
        torch.testing.assert_close(found[:, word], expected, atol=1e-4, rtol=1e-4)


def test_a_text_without_words_is_the_end_mark() -> None:
    subject = subject_of(CLASSIFIERS[0])
    nothing = subject.kept_log_probs(torch.zeros(1, subject.units, dtype=torch.bool))
    alone = TextSubject(
        subject.model, [END], [int(subject.target)], torch.tensor([0]), subject.words
    )
    torch.testing.assert_close(nothing, alone.log_probs(alone.vectors[None]).detach())


def test_rollout_multiplies_the_graph_of_target_and_source() -> None:
    """The recursion equals products of matrices over source and target positions together."""
    prefix, cross = torch.rand(2, 3, 3).softmax(-1), torch.rand(2, 3, 4).softmax(-1)
    graph = torch.eye(7)  # 4 source positions, 3 target positions
    for own, other in zip(prefix, cross, strict=True):
        inner, outer = torch.eye(7), torch.eye(7)
        inner[4:, 4:] = with_residual(own)
        outer[4:] = torch.cat([other, torch.eye(3)], 1) / 2
        graph = outer @ inner @ graph
    found = decoder_rollout([*prefix], [*cross], torch.eye(4))
    torch.testing.assert_close(found, graph[4:, :4])


@pytest.mark.parametrize(
    "preset", ["transformer-tiny", "luong-nano", "bilstm-attention-nano", "self-attentive-small"]
)
def test_values_and_weights_make_the_context(preset: str) -> None:
    """The sum of the weighted values is what the model adds, the bias of the output map aside."""
    subject = subject_of(preset)
    decoder: Any = subject.model.decoder
    contexts: list[Any] = []
    layers = getattr(decoder, "layers", None)
    part: Any = layers[decoder.shown_layer].cross_attention if layers else find_attention(decoder)
    handle = part.register_forward_hook(lambda *given: contexts.append(given[-1]))
    batch = subject.batch(subject.source)
    with torch.no_grad():
        heads = subject.model.teacher_force(batch, want_heads=(decoder.shown_layer,)).heads
        values = decoder.read_values(subject.memory(subject.vectors[None]))
    handle.remove()
    assert heads is not None
    found = torch.einsum("hts,hsv->tv", heads[0, 0], values[0])
    if layers:
        expected = contexts[0][0][0] - part.output.bias
    else:
        expected = torch.cat([one.context[0] for one in contexts]).view(len(found), -1)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def find_attention(decoder: Any) -> Any:
    """Return the attention of a recurrent decoder or a pooling."""
    return getattr(decoder, "attention", None) or decoder.pooling.attention


@pytest.mark.parametrize("preset", [*TRANSLATORS, *CLASSIFIERS])
@pytest.mark.parametrize("name", ["attention", "rollout", "values"])
def test_each_family_has_shares_or_refuses(preset: str, name: str) -> None:
    subject = subject_of(preset)
    is_transformer = "transformer" in subject.model.config.family
    try:
        found = resolve_name(METHODS[name])(subject)
    except UnsupportedMethodError as error:
        assert "expected" in str(error)
        assert (name == "rollout" and not is_transformer) or not subject.model.decoder.attends
        return
    assert found.shape == (len(subject.words), subject.units)
    assert (found >= 0).all() and (found.sum(1) <= 1 + 1e-5).all() and found.any()


PAIRS = [("A dog runs fast.", "Ein Hund rennt."), ("The dog.", "Der Hund schläft nun tief.")]


def test_a_word_of_a_translation_reads_none_after_it(tiny_translator: Translator) -> None:
    for found in self_weights(tiny_translator, PAIRS, tiny_translator.alignment):
        assert found.target is not None
        assert not found.target.triu(1).any() and found.target.tril().any()
