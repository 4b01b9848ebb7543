"""A classifier in use: the same label alone and in a batch, constant memory, weights of words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from models import load, load_classifier, load_translator
from models.core.errors import DamagedError, InputError, ModelError
from models.core.types import LabelProbability
from models.engines.classifier import Classifier
from models.storage.archive import extract_archive, write_archive
from models.text.tokenizer import LABELS, LabelTokenizer, read_tokenizer
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


def test_a_text_has_the_same_result_alone_and_in_a_batch(classifier: Classifier) -> None:
    together = classifier.classify(TEXTS, nbest=3, attention=True)
    for text, result in zip(TEXTS, together, strict=True):
        [alone] = classifier.classify([text], nbest=3, attention=True)
        assert [label for label, _ in alone.labels] == [label for label, _ in result.labels]
        for one, other in zip(alone.labels, result.labels, strict=True):
            assert one.probability == pytest.approx(other.probability, abs=1e-5)
        for a, b in zip(alone.words, result.words, strict=True):
            assert a.word == b.word and a.weight == pytest.approx(b.weight, abs=1e-5)


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


def test_spacing_and_typography_change_nothing(classifier: Classifier) -> None:
    def labels(text: str) -> tuple[LabelProbability, ...]:
        return classifier.classify([text], nbest=3)[0].labels

    assert labels("the dog's house") == labels("  the\u00a0dog\u2019s   house ")
    assert labels("the caf\u00e9") == labels("the cafe\u0301")


def test_memory_is_constant_on_an_endless_stream(classifier: Classifier) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield "a red house"

    assert len(list(islice(classifier.stream(endless(), window=5), 7))) == 7
    assert read == 10


def test_a_text_that_is_too_long_is_refused_with_its_number(classifier: Classifier) -> None:
    with pytest.raises(InputError, match="text 2 has .* tokens; expected at most 512"):
        classifier.classify(["dog", "dog " * 600])


def test_other_models_are_refused_with_the_right_command(
    toy_classifier: Path, tiny_bundle: Path
) -> None:
    with pytest.raises(ModelError, match="classifies texts; .* use `attn classify`"):
        load_translator(toy_classifier)
    with pytest.raises(ModelError, match="use `attn translate`"):
        load_classifier(tiny_bundle)


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
    assert load_classifier(tmp_path / "again").labels == tokenizer.labels


@pytest.mark.parametrize(
    "content", [b"", b"one\n", b"a\na\n", b"a\tb\nc\n", b"\xff\nb\n", b"a\n\n", b"\x1b[2J\nb\n"]
)
def test_damaged_labels_are_refused_in_one_line(
    content: bytes, toy_classifier: Path, tmp_path: Path
) -> None:
    (tmp_path / LABELS).write_bytes(content)
    (tmp_path / "tokenizer.model").write_bytes((toy_classifier / "tokenizer.model").read_bytes())
    with pytest.raises(DamagedError, match="labels.txt is damaged"):
        read_tokenizer(tmp_path)


def test_labels_beside_separate_vocabularies_are_refused(
    toy_classifier: Path, tmp_path: Path
) -> None:
    (tmp_path / LABELS).write_bytes((toy_classifier / LABELS).read_bytes())
    for side in ("source", "target"):
        learned = (toy_classifier / "tokenizer.model").read_bytes()
        (tmp_path / f"{side}.model").write_bytes(learned)
    with pytest.raises(DamagedError, match="labels.txt is damaged"):
        read_tokenizer(tmp_path)
