"""How a model with hard attention was read: chosen on the command line, and said."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

from models.core.attention_config import AttentionConfig
from models.core.use_config import SearchConfig, TokenizerConfig
from models.networks.bundle import Bundle, save, sizes_of
from models.storage.presets import model_config
from models.text.tokenizer import Tokenizer
from tests.attncli.command_line import Attn
from tests.models.small import random_model

Ask = Callable[..., Any]
TEXT, GERMAN = "The old dog sees a small house.", "Der alte Hund sieht ein kleines Haus."


@pytest.fixture(scope="module")
def hard_bundle(tiny_tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an untrained model with hard attention, whose slots are about equally likely."""
    config = dataclasses.replace(
        model_config("luong-nano"), attention=AttentionConfig.of(score="general", read="hard")
    )
    model = random_model(config, sizes_of(tiny_tokenizer, config.family), noise=0.1)
    folder = tmp_path_factory.mktemp("hard") / "bundle"
    folder.mkdir()
    save(Bundle(model, tiny_tokenizer, TokenizerConfig(), SearchConfig()), folder)
    return folder


@pytest.fixture(scope="module")
def served(
    hard_bundle: Path, hard_captioner: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a folder of models with hard attention; the captioner reads the expectation."""
    folder = tmp_path_factory.mktemp("models")
    shutil.copytree(hard_bundle, folder / "bundle-en-de")
    shutil.copytree(hard_captioner, folder / "eye")
    (folder / "eye/SHA256SUMS").unlink()
    settings = folder / "eye/config.json"
    found = json.loads(settings.read_text("utf-8"))
    found["model"]["attention"]["read_decode"] = "expected"
    settings.write_text(json.dumps(found), "utf-8")
    return folder


@pytest.fixture
def ask(served: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    """Return a function that asks a service with these models."""
    testing = pytest.importorskip("starlette.testclient")
    from attncli.serve._app import application
    from attncli.serve._options import ServeOptions
    from attncli.serve._service import Service

    monkeypatch.setenv("ATTN_MODELS", str(served))
    service = Service(ServeOptions(threads=1))
    client = testing.TestClient(application(service), base_url="http://127.0.0.1")
    yield lambda path, method="POST", **given: client.request(method, path, **given)
    service.close()


def test_translations_say_how_the_memory_was_read(hard_bundle: Path, attn: Attn) -> None:
    command = ("translate", "-m", hard_bundle, "--format", "jsonl", TEXT, TEXT)
    found = {}
    for decode in (None, "argmax", "sample", "expected"):
        choice = ("-s", f"attention.read_decode={decode}") if decode else ()
        out, err = attn(*command, *choice)
        records = [json.loads(line) for line in out.splitlines()]
        assert {record["read"] for record in records} == {f"hard {decode or 'argmax'}"}
        assert err.count(f"hard attention, read by {decode or 'argmax'}\n") == 1
        assert records[0] == records[1]
        found[decode] = records[0]["hypotheses"]
    assert found[None] == found["argmax"] != found["expected"]
    other, _ = attn(*command, "-s", "attention.read_decode=sample", "-s", "search.seed=2")
    assert json.loads(other.splitlines()[0])["hypotheses"] != found["sample"]


@pytest.mark.parametrize("mode", ["", "argmax", "sample", "expected"])
def test_the_service_reads_hard_attention_as_the_commands(
    mode: str, served: Path, ask: Ask, photos: Path, attn: Attn, tmp_path: Path
) -> None:
    """A captioner that reads the expectation is drawn by argmax, unless a mode is given."""
    choice = ("-s", f"attention.read_decode={mode}") if mode else ()
    arrays, photo = tmp_path / "arrays.npz", photos / "a.png"

    values = {"q": TEXT, "source": "en", "target": "de", "model": "bundle-en-de", "heads": True}
    answer = ask("/translate", json={**values, "read_mode": mode}).json()
    out = attn("translate", "-m", served / "bundle-en-de", TEXT, "--picture", arrays, *choice).out
    weights = numpy.load(arrays)["weights_1"]
    assert answer["translatedText"] == out.rstrip("\n")
    [found] = answer["alignments"]
    assert numpy.allclose(found["weights"], weights, atol=1e-3)
    assert f"hard {mode or 'argmax'} attention" in found["shown"]
    pair = tmp_path / "pair.tsv"
    pair.write_text(f"{TEXT}\t{GERMAN}\n", "utf-8")
    attn("align", "-m", served / "bundle-en-de", pair, "--picture", arrays, *choice)
    aligned = ask("/align", json={**values, "translation": GERMAN, "read_mode": mode}).json()
    assert numpy.allclose(aligned["weights"], numpy.load(arrays)["weights_1"], atol=1e-3)

    answer = ask(f"/caption?model=eye&read_mode={mode}", content=photo.read_bytes()).json()
    out, err = attn("caption", "-m", served / "eye", photo, "--picture", arrays, *choice)
    maps = numpy.load(arrays)["maps"]
    if not mode:
        flat = maps.reshape(len(maps), -1)
        maps = numpy.eye(flat.shape[1])[flat.argmax(1)].reshape(maps.shape)
    assert answer["caption"] == out.rstrip("\n") and numpy.allclose(answer["maps"], maps, atol=1e-4)
    read = f"hard {mode or 'expected'} attention"
    assert answer["shown"] == read + ("" if mode else ", drawn by argmax")
    assert ("arrays.npz has the weights of the expectation, as read" in err) is (not mode)
    err = attn("caption", "-m", served / "eye", photo, "--show", *choice).err
    assert ("maps drawn by argmax" in err) is (not mode)


def test_only_hard_models_offer_read_modes(ask: Ask) -> None:
    found = {one["name"]: one["read_modes"] for one in ask("/models", method="GET").json()}
    assert found.pop("bundle-en-de") == found.pop("eye") == ["argmax", "sample", "expected"]
    assert not any(modes for name, modes in found.items() if name != "photos-hard")
    values = {"q": TEXT, "source": "en", "target": "de", "read_mode": "sample"}
    assert "not hard" in ask("/translate", json={**values, "model": "everyday"}).json()["error"]
    refused = ask("/translate", json={**values, "read_mode": "mean"})
    assert refused.status_code == 400 and "argmax, sample or expected" in refused.json()["error"]


@pytest.mark.parametrize(
    "words",
    [
        *("translate -i x.en", "evaluate x.en x.de", "evaluate x.en x.de --json"),
        *("align x.en x.de", "evaluate alignments --gold gold --gold-index 0 x.en x.de"),
    ],
)
def test_every_command_says_how_the_memory_was_read(
    words: str,
    hard_bundle: Path,
    tiny_bundle: Path,
    tmp_path: Path,
    attn: Attn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("x.en", TEXT), ("x.de", GERMAN), ("gold", "0-0 1-1")):
        Path(name).write_text(f"{text}\n", "utf-8")
    command = words.split()
    for mode in ("", "argmax", "expected"):
        choice = ("-s", f"attention.read_decode={mode}") if mode else ()
        found = "".join(attn(*command, "-m", hard_bundle, *choice))
        assert f"hard {mode or 'argmax'}" in found.replace("attention, read by ", "")
    assert "hard" not in "".join(attn(*command, "-m", tiny_bundle))
    assert "not hard" in attn(*command, "-m", tiny_bundle, *choice, status=1).err
