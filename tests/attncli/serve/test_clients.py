"""Clients of others, from their registries, work unchanged."""

from __future__ import annotations

import pytest

from attncli.serve.models import Job, ServedModel
from models.storage.installed import BOX

SENTENCE = "The train to Paris leaves at eight."


@pytest.fixture(scope="module")
def german() -> str:
    """Return the sentence as the model itself translates it."""
    job = Job.of("translate", source="en", to="de")
    [found] = job.run(ServedModel(BOX / "everyday", threads=1), [SENTENCE])
    return found.text


def test_libretranslatepy(url: str, german: str) -> None:
    client = pytest.importorskip("libretranslatepy").LibreTranslateAPI(url)
    assert client.translate(SENTENCE, "en", "de") == german
    assert client.detect("Wo ist der Bahnhof?")[0]["language"] == "de"
    languages = {row["code"]: row for row in client.languages()}
    assert languages["en"]["name"] == "English" and "de" in languages["en"]["targets"]


def test_deep_translator(url: str, german: str) -> None:
    translator = pytest.importorskip("deep_translator").LibreTranslator(
        source="en", target="de", api_key="none", custom_url=f"{url}/"
    )
    assert translator.translate(SENTENCE) == german
    assert translator.translate_batch([SENTENCE, SENTENCE]) == [german, german]
