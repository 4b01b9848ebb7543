"""Steered requests: prefix, looks, and words that can follow."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from attncli.data import scenes
from tests.attncli.serve.conftest import SPEECH

httpx = pytest.importorskip("httpx")

GIVEN = {"q": "The old dog sees a small house.", "source": "en", "target": "de"}


def post(url: str, path: str = "/translate", **values: Any) -> Any:
    return httpx.post(url + path, json={**GIVEN, **values}, timeout=60)


def test_a_translation_begins_with_the_prefix_and_goes_on_inside_a_word(url: str) -> None:
    for prefix in ("Ein", "Ein ", "Der Hu", "Die Katze, "):
        found = post(url, prefix=prefix).json()["translatedText"]
        assert found.startswith(prefix.strip()) and found.endswith("Haus.")
    assert post(url, prefix="Der Hu").json()["translatedText"].startswith("Der Hund ")
    assert post(url, prefix="").text == post(url).text


def test_a_look_decides_the_next_word(url: str) -> None:
    for look, word in (("dog", "Hund"), ("3", "Hund"), ("house", "Haus"), ("4-4@2", "sieht")):
        found = post(url, prefix="Ein ", look=f"{look}@2" if "@" not in look else look)
        assert found.json()["translatedText"].split()[1].rstrip(".") == word
    found = post(url, look=["house@1", "dog@2"]).json()["translatedText"].split()
    assert found[0] == "Haus"


def test_the_lines_of_a_prefix_belong_to_the_lines_of_the_text(url: str) -> None:
    text = "Good morning.\nThe old dog sees a small house."
    found = post(url, q=text, prefix="Guten Tag.\nEin ").json()["translatedText"].split("\n")
    assert found[0] == "Guten Tag." and found[1].startswith("Ein ")
    words = post(url, "/alternatives", q=text, prefix="Guten Tag.\n").json()["alternatives"]
    alone = post(url, "/alternatives").json()["alternatives"]
    assert [one["word"] for one in words] == [one["word"] for one in alone]


def test_alternatives_are_words_with_falling_probabilities(url: str) -> None:
    found = post(url, "/alternatives", prefix="Der alte").json()["alternatives"]
    shares = [one["probability"] for one in found]
    assert found[0]["word"] == "Hund" and len(found) == 8
    assert shares == sorted(shares, reverse=True) and 0 < sum(shares) <= 1
    assert len(post(url, "/alternatives", n=3).json()["alternatives"]) == 3
    looked = post(url, "/alternatives", prefix="Der alte", look="house").json()["alternatives"]
    assert looked[0]["word"] == "Haus"


def test_alternatives_are_fast(url: str) -> None:
    seconds = []
    for _ in range(5):
        begun = time.process_time()  # of the service, which runs in this process
        assert post(url, "/alternatives", prefix="Der alte ").status_code == 200
        seconds.append(time.process_time() - begun)
    assert min(seconds) < 0.15


@pytest.mark.parametrize(
    "values, message",
    [
        ({"look": "cat"}, "a word of 'The old dog"),
        ({"look": "9"}, "or 1 to 7"),
        ({"look": "dog@x"}, "words of the output"),
        ({"look": ["dog"] * 21}, "at most 20"),
        ({"q": ["a", "b"], "prefix": "Ein"}, "one text q"),
        ({"format": "html", "prefix": "Ein"}, "one text q"),
        ({"prefix": 5}, "prefix must be a text"),
    ],
)
def test_what_cannot_steer_is_refused_in_one_line(url: str, values: Any, message: str) -> None:
    answer = post(url, **values)
    assert answer.status_code == 400 and message in answer.json()["error"], answer.text
    assert "\n" not in answer.json()["error"]


def test_a_caption_follows_a_frame(url: str) -> None:
    scene = next(one for one in scenes.generate(5) if len(one.things) == 2)
    image, captions = scenes.png(scene), []
    for thing in scene.things:
        box = ",".join(map(str, thing.box))
        captions.append(captioned(url, image, look=box))
        assert captions[-1].split()[2] == thing.colour
    assert captions[0] != captions[1]
    assert captioned(url, image, prefix="a big ").startswith("a big ")


def captioned(url: str, image: bytes, **values: str) -> str:
    params = {"model": "scenes", **values}
    answer = httpx.post(f"{url}/caption", params=params, content=image, timeout=60)
    caption: str = answer.json()["caption"]
    return caption


def test_a_transcript_takes_a_prefix_and_a_look(speech: tuple[str, Path], wav: bytes) -> None:
    url, _ = speech
    model = {"model": SPEECH}
    plain = httpx.post(f"{url}/transcribe", params=model, content=wav, timeout=60).json()
    params = {"look": "0-0.3", "attention": "true", **model}
    found = httpx.post(f"{url}/transcribe", params=params, content=wav, timeout=60).json()
    for drawn in found.get("maps", []):  # none of an empty text
        allowed = int(-(-0.3 // drawn["slotSeconds"]))
        assert all(sum(row[allowed:]) == 0 for row in drawn["weights"])
    assert "text" in plain, plain
    wrong = {"look": "2-1", **model}
    refused = httpx.post(f"{url}/transcribe", params=wrong, content=wav, timeout=60)
    assert refused.status_code == 400 and "seconds" in refused.json()["error"]
