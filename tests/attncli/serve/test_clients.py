"""Clients of others, from their registries, work unchanged."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from attncli.serve.models import Job, ServedModel
from attncli.serve.translate import output
from models.storage.installed import BOX

SENTENCE = "The train to Paris leaves at eight."


@pytest.fixture(scope="module")
def german() -> str:
    """Return the sentence as the model itself translates it."""
    job = Job.of("translate", source="en", to="de")
    [found] = job.run(ServedModel(BOX / "everyday", threads=1), [SENTENCE])
    return output(found)


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


def test_openai_translates(url: str, german: str) -> None:
    client = pytest.importorskip("openai").OpenAI(base_url=f"{url}/v1", api_key="none")
    assert "everyday:de" in [model.id for model in client.models.list()]
    messages = [{"role": "user", "content": f"{SENTENCE}\n\n{SENTENCE}"}]
    whole = client.chat.completions.create(model="everyday:en-de", messages=messages)
    assert whole.choices[0].message.content == f"{german}\n\n{german}"
    parts = client.chat.completions.create(model="everyday:de", messages=messages, stream=True)
    text = "".join(part.choices[0].delta.content or "" for part in parts)
    assert text == f"{german}\n\n{german}"


def test_openai_describes_an_image(url: str) -> None:
    client = pytest.importorskip("openai").OpenAI(base_url=f"{url}/v1", api_key="none")
    buffer = io.BytesIO()
    Image.new("RGB", (60, 40), "green").save(buffer, "PNG")
    address = f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
    content = [{"type": "image_url", "image_url": {"url": address}}]
    done = client.chat.completions.create(
        model="photos", messages=[{"role": "user", "content": content}], n=2
    )
    assert len(done.choices) == 2 and all(one.message.content for one in done.choices)
