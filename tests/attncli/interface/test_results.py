"""`attncli.load` and its results: one in, one out; the outputs of the library; pictures."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from PIL import Image

import models
from attncli import ModelError, load
from models.core.errors import NotFoundError
from models.signals.images import open_image

TEXTS = ["The old dog sees a small house.", "The young girl reads."]


def test_a_result_has_the_score_and_the_alternatives_of_its_outputs(tiny_bundle: Path) -> None:
    translator: Any = load(tiny_bundle)
    many = translator.translate(TEXTS)
    plain = models.load(tiny_bundle).translate(TEXTS)
    scores = [found.hypotheses[0].score for found in plain]
    assert [found.score for found in many] == pytest.approx(scores, 1e-4)
    assert many[0].text == many[0].hypotheses[0].text and many[0].alternatives == ()
    assert translator.translate([]) == []


def test_texts_are_prepared_as_the_command_prepares_lines() -> None:
    translator: Any = load("everyday")
    plain, long = "It's late.", "The dog sleeps. " * 50
    odd = ["It’s  late.", "THE DOG SLEEPS.", "12.50", "", long]
    found = translator.translate(odd, to=["de", "fr", "de", "de", "es"])
    assert found[0].text == translator.translate(plain, to="de").text
    assert found[1].text.isupper() and found[2].text == "12.50" and found[3].text == ""
    assert [one.to for one in found] == ["de", "fr", "de", "de", "es"]
    assert found[4].alignment.target == tuple(found[4].text.split())
    assert len(found[4].alignment.source) == 150 and found[4].picture and found[2].picture
    assert found[2].alignment.target == ()
    raw = translator.translate("THE DOG SLEEPS.", to="fr", verbatim=True)
    assert raw == translator.for_direction("fr").translate(["THE DOG SLEEPS."], verbatim=True)[0]
    assert raw.text != found[1].text


def test_a_translation_has_an_alignment_and_shows_it(tiny_bundle: Path) -> None:
    one: Any = load(tiny_bundle).translate(TEXTS[0])  # type: ignore[union-attr]
    found = one.alignment
    assert found.source == tuple(TEXTS[0].split()) and found.target == tuple(one.text.split())
    assert tuple(found.weights.shape) == (len(found.target), len(found.source))
    assert all(word in one.picture for word in found.target)
    page = one._repr_html_()
    assert page.startswith("<iframe") and "&lt;script" in page and "<script" not in page


def test_align_a_given_pair(tiny_bundle: Path) -> None:
    translator: Any = load(tiny_bundle)
    one = translator.translate(TEXTS[0])
    found = translator.align(TEXTS[0], one.text)
    assert found.links == one.alignment.links
    [again] = translator.align([TEXTS[0]], [one.text])
    assert again.links == found.links and found.target[0] in found.picture
    assert found.text == one.text and found.alignment is found and found.score < 0


@pytest.mark.parametrize("count", [0, 1, 2, 10])
def test_any_number_of_texts_has_the_translation_and_the_alignment_of_each(count: int) -> None:
    translator: Any = load("everyday")
    texts = [f"The {n % 3 + 2} dogs sleep." + " \U0001f600" * (n % 2) for n in range(count)]
    found = translator.translate(iter(texts), to="de")
    aligned = translator.align(texts, [one.text for one in found], to="de")
    assert [one.source for one in found] == texts and len(aligned) == count
    assert [one.text for one in aligned] == [one.text for one in found]
    for one in found:
        alone = translator.translate(one.source, to="de")
        assert alone.text == one.text and alone.alignment.links == one.alignment.links
        assert alone.alignment.weights.allclose(one.alignment.weights, atol=1e-4)
        assert one.picture.partition("\n")[2] == alone.picture.partition("\n")[2]


def test_align_takes_the_target_language() -> None:
    translator: Any = load("everyday")
    found = translator.align("A dog.", "Ein Hund.", to="de")
    expected = translator.for_direction("de").align("A dog.", "Ein Hund.")
    assert found.score == expected.score and found.weights.equal(expected.weights)
    assert found.links == {(0, 0), (1, 1)}


def test_settings_keep_the_interface(tiny_bundle: Path) -> None:
    from models.core.use_config import SearchConfig

    translator: Any = load(tiny_bundle).with_search(SearchConfig(nbest=3))
    assert len(translator.translate(TEXTS[0]).alternatives) == 2


def test_caption_paths_images_bytes_and_arrays(soft_captioner: Path, photos: Path) -> None:
    captioner: Any = load(soft_captioner)
    path = photos / "a.png"
    image = open_image(path)
    pixels = numpy.asarray(image)
    expected = captioner.caption([image])[0].text
    for given in (path, str(path), image, path.read_bytes(), pixels, pixels / 255.0):
        assert captioner.caption(given).text == expected
    assert captioner.caption(io.BytesIO(path.read_bytes())).text == expected
    mask = pixels[..., 0] > 128
    assert captioner.caption(mask).text == captioner.caption(mask * numpy.uint8(255)).text
    grey = numpy.asarray(image.convert("L"))
    assert captioner.caption(grey).text == captioner.caption(image.convert("L")).text
    tensor = torch.from_numpy(pixels.copy())
    for pixel in (tensor, tensor / 255, tensor.permute(2, 0, 1), tensor.permute(2, 0, 1) / 255):
        assert captioner.caption(pixel).text == expected
    assert captioner.caption(captioner.features([image])[0]).text == expected
    many = captioner.caption([path, photos / "b.jpg"])
    assert [one.text for one in many] == [expected, captioner.caption(photos / "b.jpg").text]


def test_a_large_photo_is_read_alike_by_its_path_and_by_pillow(
    soft_captioner: Path, tmp_path: Path
) -> None:
    pixels = numpy.random.default_rng(1).integers(0, 255, (900, 1200, 3), "uint8")
    Image.fromarray(pixels).save(tmp_path / "a.jpg")
    captioner: Any = load(soft_captioner)
    path, opened = captioner.caption([one(tmp_path / "a.jpg") for one in (str, Image.open)])
    assert path.image.tobytes() == opened.image.tobytes() and path.score == opened.score


def test_classify_one_or_many(toy_classifier: Path) -> None:
    classifier: Any = load(toy_classifier)
    texts = ["play some music", "what is the weather"]
    many = classifier.classify(texts, nbest=2)
    one = classifier.classify(texts[0], nbest=2)
    assert one.label == many[0].label and one.score == one.labels[0].probability
    assert [word for word, _ in one.words] == texts[0].split()
    assert texts[0].split()[0] in one.picture and "iframe" in one._repr_html_()
    assert classifier.classify("").score == 0
    with pytest.raises(ModelError, match="nbest = 0"):
        classifier.classify(texts[0], nbest=0)


@pytest.mark.parametrize("count", [0, 1, 2, 10])
def test_any_number_of_images_of_any_kind_has_the_captions_of_the_paths(
    count: int, soft_captioner: Path, photos: Path
) -> None:
    captioner: Any = load(soft_captioner)
    paths = [photos / ("a.png", "b.jpg")[n % 2] for n in range(count)]
    images = [*map(open_image, paths)]
    expected = captioner.caption(paths)
    kinds = (
        images,
        [numpy.asarray(one) for one in images],
        [path.read_bytes() for path in paths],
        [io.BytesIO(path.read_bytes()) for path in paths],
        [captioner.features([one])[0] for one in images],
    )
    for number, kind in enumerate(kinds):
        found = captioner.caption(kind)
        assert [one.text for one in found] == [one.text for one in expected]
        assert [one.score for one in found] == pytest.approx([one.score for one in expected], 1e-5)
        for one, other in zip(found, expected, strict=True):
            assert one.alignment.maps.allclose(other.alignment.maps, atol=1e-5)
            assert (one.image is None) == (number == 4)  # features have no image


def test_results_are_pickled_without_their_models(toy_classifier: Path) -> None:
    for one in (
        load(toy_classifier).classify("play some music"),  # type: ignore[union-attr]
        load("everyday").translate("A dog.", to="de"),  # type: ignore[union-attr]
    ):
        sent = pickle.dumps(one)
        assert len(sent) < 5000 and pickle.loads(sent) == one
        assert asdict(one)["line"] == one.line and copy.deepcopy(one) == one


def test_a_caption_without_maps_or_an_image_that_is_missing_is_refused(
    soft_captioner: Path, photos: Path
) -> None:
    captioner: Any = load(soft_captioner)
    with pytest.raises(ModelError, match="a caption without maps"):
        _ = captioner.caption(photos / "a.png", attention=False).picture
    with pytest.raises(NotFoundError, match="none.png"):
        captioner.caption([photos / "a.png", photos / "none.png"])


@pytest.mark.parametrize("count", [0, 1, 2, 10])
def test_any_number_of_texts_has_the_labels_of_each(count: int, toy_classifier: Path) -> None:
    classifier: Any = load(toy_classifier)
    texts = ["play some music " * (1 + n % 4) for n in range(count)]
    found = classifier.classify(iter(texts), nbest=2)
    assert [one.text for one in found] == texts
    for one in found:
        alone = classifier.classify(one.text, nbest=2)
        assert alone.label == one.label and alone.score == pytest.approx(one.score, abs=1e-5)
        assert alone.picture == one.picture


def test_a_caption_shows_its_maps(soft_captioner: Path, photos: Path) -> None:
    one: Any = load(soft_captioner).caption(photos / "a.png")  # type: ignore[union-attr]
    assert one.alignment.maps.shape[0] == len(one.alignment.words)
    assert one.alignment.words[0] in one.picture and "<iframe" in one._repr_html_()
    assert one.score == one.hypotheses[0].score and isinstance(one.image, Image.Image)


def test_what_is_no_text_or_no_device_is_refused(tiny_bundle: Path) -> None:
    translator: Any = load(tiny_bundle)
    for wrong in (None, b"A dog.", 3, ["A dog.", None], object()):
        with pytest.raises(ModelError, match="a text of type .*; expected str"):
            translator.translate(wrong)
    calls: tuple[tuple[Callable[[], object], str], ...] = (
        (
            lambda: translator.translate("A dog.", to=None),
            "to = None; expected str or a list of str; see help.Translator.translate",
        ),
        (lambda: translator.translate("A dog.", search={"beam": 2}), "settings of type dict"),
        (lambda: translator.translate("A \ud800 dog."), "half a character"),
        (lambda: translator.align(["A", "B"], ["A"]), "1 translations of 2 texts"),
        (lambda: load(None), "a model of type NoneType"),  # type: ignore[arg-type]
    )
    for call, message in calls:
        with pytest.raises(ModelError, match=message):
            call()
    assert load(tiny_bundle, device="auto").translate("A dog.")  # type: ignore[union-attr]
    for device in ("gpu", "npu:1"):
        with pytest.raises(ModelError, match=f"device '{device}', which this machine"):
            load(tiny_bundle, device=device)


def test_an_array_without_pixels_or_of_other_floats_is_refused() -> None:
    captioner: Any = load("scenes")
    for array, message in (
        (numpy.zeros((0, 0, 3), "uint8"), "without pixels"),
        (numpy.full((8, 8, 3), 200.0), "floats from 200"),
        (numpy.full((8, 8, 3), numpy.nan), "NaN"),
        (numpy.linspace(-1, 1, 192).reshape(8, 8, 3), "from -1 up to 1"),
        (numpy.full((8, 8, 3), 300), "whole numbers from 300"),
        (torch.linspace(-1, 1, 192).view(3, 8, 8), "from -1 up to 1"),
        (torch.zeros(7, 5, 9), "Cannot handle"),
        (None, "an image of type NoneType"),
    ):
        with pytest.raises(ModelError, match=message):
            captioner.caption(array)


def test_the_alignment_has_the_protected_parts_that_the_model_did_not_read() -> None:
    translator: Any = load("everyday")
    result = translator.translate("You have %s files.\n\nSee https://a.org/b now.", to="de")
    assert "%s" in result.text and "https://a.org/b" in result.text
    for words in (result.alignment.source, result.alignment.target):
        assert "%s" in words and "https://a.org/b" in " ".join(words)
