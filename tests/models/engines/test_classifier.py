"""A classifier in use: the same label alone and in a batch, constant memory, weights of words."""

from __future__ import annotations

from pathlib import Path

import pytest

from models import load
from models.core.errors import InputError, ModelError
from models.engines.classifier import Classifier
from models.storage.archive import extract_archive, write_archive
from models.text.tokenizer import LabelTokenizer, read_tokenizer
from tests.attncli.labels import toy_rows

TEXTS = [
    "the red house",
    "we see a dog again today",
    "a new house",
    "horse",
    "  ",
    "the old old cat",
]


@pytest.fixture(scope="module")
def classifier(toy_classifier: Path) -> Classifier:
    found = load(toy_classifier)
    assert isinstance(found, Classifier)
    return found


def test_texts_get_the_label_of_their_key_word(classifier: Classifier) -> None:
    rows = toy_rows(100, seed=9)
    found = classifier.classify(text for _, text in rows)
    right = sum(result.label == label for result, (label, _) in zip(found, rows, strict=True))
    assert right >= 97


def test_probabilities_and_weights_are_shares(classifier: Classifier) -> None:
    for result in classifier.classify(TEXTS, nbest=99, attention=True):
        if not result.text.strip():
            assert (result.labels, result.words, result.label) == ((), (), "")
            continue
        assert sorted(label for label, _ in result.labels) == ["animal", "colour", "none"]
        values = [value for _, value in result.labels]
        assert values == sorted(values, reverse=True) and sum(values) == pytest.approx(1)
        assert " ".join(word for word, _ in result.words) == result.text
        assert sum(weight for _, weight in result.words) == pytest.approx(1, abs=1e-5)


def test_a_text_that_is_too_long_is_refused_with_its_number(classifier: Classifier) -> None:
    with pytest.raises(InputError, match="text 2 has .* tokens; expected at most 512"):
        classifier.classify(["dog", "dog " * 600])


def test_labels_are_stored_and_read_back(toy_classifier: Path, tmp_path: Path) -> None:
    tokenizer = read_tokenizer(toy_classifier)
    assert isinstance(tokenizer, LabelTokenizer)
    assert tokenizer.labels == ("animal", "colour", "none") and not tokenizer.joint
    assert tokenizer.decode(tokenizer.encode_target("none")) == "none"
    with pytest.raises(ModelError, match="unknown label 'colours'.*did you mean colour"):
        tokenizer.encode_target("colours")
    write_archive(toy_classifier, tmp_path / "packed.zip")
    (tmp_path / "again").mkdir()
    extract_archive(tmp_path / "packed.zip", tmp_path / "again")
    assert load(tmp_path / "again", "classify").labels == tokenizer.labels
