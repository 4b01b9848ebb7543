"""`explain` of the models for Python: the numbers of `attn explain`; pictures; mistakes."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest
from PIL import Image

import attncli
from attncli.explain.result import rounded
from models.explain import METHODS
from models.signals.images import open_image
from models.storage.installed import BOX, is_bundle
from tests.attncli.command_line import Attn

TEXTS = ["The old woman sees the red car.", "The dog sees a small house."]
PAIR = ("The dog sees a house.", "Der Hund sieht ein Haus.")


class Case(NamedTuple):
    """A model with inputs."""

    folder: Path
    inputs: list[Any]


@pytest.fixture
def cases(
    tiny_bundle: Path, toy_classifier: Path, soft_captioner: Path, photos: Path
) -> dict[str, Case]:
    return {
        "translate": Case(tiny_bundle, TEXTS),
        "translate by a Transformer": Case(BOX / "grammar-en-de", TEXTS),
        "classify": Case(toy_classifier, ["play some music", "the red house"]),
        "caption": Case(soft_captioner, [str(photos / "a.png"), str(photos / "b.jpg")]),
    }


def command(attn: Attn, folder: Path, *words: object, status: int = 0) -> Any:
    """Return what `attn explain` writes as JSON lines, or its messages."""
    task = ("explain", "--device", "cpu", "-m", folder, "--format", "jsonl")
    done = attn(*task, *words, status=status)
    return done.err if status else [json.loads(row) for row in done.out.splitlines()]


def records(found: list[Any]) -> list[Any]:
    """Return explanations as they are written to JSON."""
    return [json.loads(json.dumps(one.by.record(one))) for one in found]


@pytest.mark.parametrize("method", [*METHODS, "all"])
@pytest.mark.parametrize("name", ["translate", "translate by a Transformer", "classify", "caption"])
def test_each_method_gives_the_numbers_of_the_command_alone_and_in_a_list(
    name: str, method: str, cases: dict[str, Case], attn: Attn
) -> None:
    folder, inputs = cases[name]
    if not is_bundle(folder):
        pytest.skip("not in the box")
    model: Any = attncli.load(folder)
    words = (*inputs, "--method", method)
    try:
        found = model.explain(inputs, method=method)
    except attncli.ModelError as error:
        assert f"attn: {error}\n" in command(attn, folder, *words, status=1)
        assert method in str(error) and "expected another method" in str(error)
        return
    expected = command(attn, folder, *words)
    assert records(found) == expected
    assert records([model.explain(one, method=method) for one in inputs]) == expected
    for one, record in zip(found, expected, strict=True):
        numbers = {name: own["relevances"] for name, own in record["methods"].items()}
        assert {name: rounded(own) for name, own in one.relevances.items()} == numbers
        for measured, own in {"random": record["random"], **record["methods"]}.items():
            for measure, values in one.measures[measured].items():
                assert rounded(values) == own[measure]
        assert [*one.target] == record["target"] and one.text.split() == record["target"]
        assert all(word in one.picture for word in one.target)
        assert "<iframe" in one._repr_html_()


def test_one_word_and_the_methods_of_the_text_output_are_the_default(
    tiny_bundle: Path, attn: Attn
) -> None:
    model: Any = attncli.load(tiny_bundle)
    methods = ("--method", "attention", "--method", "erasure")
    found = model.explain(TEXTS[0], word=2)
    assert records([found]) == command(attn, tiny_bundle, TEXTS[0], *methods, "--word", "2")
    assert len(found.target) == 1 and [*found.relevances] == ["attention", "erasure"]
    assert pickle.loads(pickle.dumps(found)).target == found.target


def test_a_given_translation_is_that_of_a_pair_and_bars_are_text(
    tiny_bundle: Path, attn: Attn
) -> None:
    model: Any = attncli.load(tiny_bundle)
    method = ("--method", "erasure")
    expected = command(attn, tiny_bundle, " ||| ".join(PAIR), *method)
    found = model.explain(PAIR[0], target=PAIR[1], method="erasure")
    assert records([found]) == expected and found.text == PAIR[1]
    [again] = model.explain([PAIR[0]], target=[PAIR[1]], method="erasure")
    assert records([again]) == expected
    bars = model.explain(" ||| ".join(PAIR), method="attention")
    assert bars.text == model.translate(" ||| ".join(PAIR)).text != PAIR[1]


@pytest.mark.skipif(not is_bundle(BOX / "everyday"), reason="not in the box")
def test_languages_are_those_of_the_command(attn: Attn) -> None:
    model: Any = attncli.load("everyday")
    method = ("--method", "attention")
    texts = ["I see the red car.", "WHERE IS THE DOG?"]
    expected = command(attn, BOX / "everyday", *texts, "--to", "de", "--from", "en", *method)
    options = {"to": "de", "source": "en", "method": "attention"}
    assert records(model.explain(texts, **options)) == expected
    directed = model.for_direction("de", "en")
    assert records(directed.explain(texts, method="attention")) == expected


def test_images_of_any_kind_have_the_numbers_of_the_path(
    soft_captioner: Path, photos: Path
) -> None:
    model: Any = attncli.load(soft_captioner)
    path = photos / "a.png"
    image = open_image(path)
    expected = model.explain(path, method="erasure").relevances["erasure"]
    with path.open("rb") as stream:
        kinds = [image, Image.open(path), path.read_bytes(), numpy.asarray(image), stream]
        for found in model.explain(kinds, method="erasure"):
            assert found.relevances["erasure"].equal(expected) and found.picture


def test_what_is_empty_has_no_numbers(tiny_bundle: Path) -> None:
    model: Any = attncli.load(tiny_bundle)
    empty, found = model.explain(["", TEXTS[0]])
    assert empty.text == "" and empty.relevances == empty.measures == {} and found.relevances
    assert empty.picture.strip() == "1" and empty._repr_html_() is None
    assert model.explain([]) == []


def test_mistakes_are_one_line(cases: dict[str, Case]) -> None:
    loaded: dict[str, Any] = {name: attncli.load(one.folder) for name, one in cases.items()}
    translator, classifier, captioner = (
        loaded[name] for name in ("translate", "classify", "caption")
    )
    [path, _] = cases["caption"].inputs
    features = captioner.features([open_image(Path(path))])[0]
    explain = translator.explain
    calls: dict[str, Callable[[], Any]] = {
        "unknown method 'atention'.*did you mean attention": lambda: explain(
            "A dog.", method="atention"
        ),
        "unknown method 'erase'": lambda: explain("A dog.", method=["attention", "erase"]),
        "a method of type int; expected all or": lambda: explain("A dog.", method=3),
        "unknown method '3'": lambda: explain("A dog.", method=[3]),
        "no method; expected all or": lambda: explain("A dog.", method=()),
        "word = -1": lambda: explain("A dog.", word=-1),
        "word = 'dog'": lambda: explain("A dog.", word="dog"),
        "word 99 of an output": lambda: explain("A dog.", word=99),
        "a text of type int": lambda: explain(3),
        "a text of type bytes": lambda: classifier.explain([b"a"]),
        "2 translations of 1 texts": lambda: explain("A dog.", target=["a", "b"]),
        "a text of type NoneType": lambda: explain(["A dog."], target=[None]),
        "a pair with an empty side": lambda: explain("A dog.", target=""),
        "to = 3; expected str": lambda: explain("A dog.", to=3),
        "target language 'xx'": lambda: explain("A dog.", to="xx"),
        "no method that the model supports": lambda: classifier.explain("a", method="rollout"),
        "features of an image": lambda: captioner.explain(features),
        "no file none.png": lambda: captioner.explain([path, "none.png"]),
        "an image of type NoneType": lambda: captioner.explain(None),
    }
    for message, call in calls.items():
        with pytest.raises(attncli.ModelError, match=message):
            call()
