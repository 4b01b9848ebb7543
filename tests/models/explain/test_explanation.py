"""Explanations of real bundles: words, public log-probabilities, control, limits."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PIL import Image

from models import load_classifier
from models.alignment.weights import encode, encoded_translation
from models.base.errors import InputError
from models.explain import METHODS, ExplainOptions
from models.explain.explanation import explain_caption, explain_label, explain_pair
from models.explain.subject import ImageSubject
from models.inference.captioner import Captioner
from models.inference.translator import Translator
from tests.models.inference.test_erasure import noise

SOURCE = "The dog sees a small house."


def test_a_translation_has_a_row_for_each_word(tiny_translator: Translator) -> None:
    [found] = tiny_translator.translate([SOURCE])
    explained = explain_pair(
        tiny_translator, encoded_translation(tiny_translator, found), ExplainOptions()
    )
    assert explained.source == tuple(SOURCE.split())
    assert explained.target == tuple(found.text.split())
    assert [row.method for row in explained.rows] == list(METHODS) and not explained.unsupported
    shape = (len(explained.target), len(explained.source))
    assert {row.values.shape for row in explained.rows} == {shape}


def test_one_word_has_the_numbers_that_it_has_among_all(tiny_translator: Translator) -> None:
    pair = encode(tiny_translator, SOURCE, "Der Hund sieht ein kleines Haus.")
    every, one = (explain_pair(tiny_translator, pair, ExplainOptions(word=word)) for word in (0, 2))
    assert one.target == every.target[1:2] == ("Hund",)
    for row, other in zip(every.rows, one.rows, strict=True):
        torch.testing.assert_close(row.values[1:2], other.values, atol=1e-4, rtol=1e-4)
        for measure, same in zip(row.measures, other.measures, strict=True):
            torch.testing.assert_close(measure.values[1:2], same.values, atol=1e-4, rtol=1e-4)


def test_a_label_is_explained(toy_classifier: Path) -> None:
    classifier = load_classifier(toy_classifier)
    text = "play some jazz"
    explained = explain_label(classifier, text, ExplainOptions())
    [expected] = classifier.classify([text], attention=True)
    assert explained.target == (expected.label,)
    assert float(explained.log_probs.exp()) == pytest.approx(expected.labels[0].probability, 1e-4)
    weights = [weight for _, weight in expected.words]
    assert explained.rows[0].values[0].tolist() == pytest.approx(weights, abs=1e-5)
    assert list(explained.unsupported) == ["rollout"]


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


@pytest.mark.parametrize(
    ("source", "target", "word", "message"),
    [("", "Der Hund", 0, "empty side"), ("The dog", "Der Hund", 3, "word 3 .*expected 1 to 2")],
)
def test_what_cannot_be_explained_is_refused(
    tiny_translator: Translator, source: str, target: str, word: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        explain_pair(
            tiny_translator, encode(tiny_translator, source, target), ExplainOptions(word=word)
        )


def test_empty_inputs_are_refused(toy_classifier: Path, soft_captioner: Path) -> None:
    with pytest.raises(InputError, match="empty text"):
        explain_label(load_classifier(toy_classifier), " ", ExplainOptions())
    with pytest.raises(InputError, match="empty caption"):
        image = Image.new("RGB", (32, 32))
        explain_caption(Captioner.read(soft_captioner), image, (), ExplainOptions())
